//! The table of crates and floors that `docs/design.md` shows under "Floors".

/// A crate of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct House {
    /// Its folder in the repository.
    pub(crate) folder: String,
    /// Folders of the crates that it uses.
    pub(crate) uses: Vec<String>,
    /// Its floors from the ground up.
    pub(crate) floors: Vec<Floor>,
}

/// A floor of a crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Floor {
    /// What people call it.
    pub(crate) name: String,
    /// Whether its folders may use each other in circles.
    pub(crate) recursive: bool,
    /// Folders and files under `src`, without `.rs`; one empty name where the table says "all".
    pub(crate) rooms: Vec<String>,
}

/// The mark of a floor whose folders may use each other in circles.
const RECURSIVE: &str = "(recursive)";

/// Reads the table. Every row is a floor; a row that names no crate belongs to the crate above it.
pub(crate) fn read(page: &str) -> Result<Vec<House>, String> {
    let section = page.split("\n## Floors\n").nth(1).ok_or("docs/design.md has no section \"Floors\"")?;
    let mut houses: Vec<House> = Vec::new();
    let rows =
        section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    for row in rows.skip(2) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [folder, uses, floor, rooms] = cells[..] else {
            return Err(format!("a row of \"Floors\" without four cells: {row}"));
        };
        if let [folder] = &quoted(folder)[..] {
            houses.push(House { folder: folder.clone(), uses: quoted(uses), floors: Vec::new() });
        }
        let house = houses.last_mut().ok_or("the first row of \"Floors\" names no crate")?;
        if !floor.is_empty() {
            let recursive = floor.ends_with(RECURSIVE);
            let name = floor.trim_end_matches(RECURSIVE).trim().to_owned();
            let rooms = if rooms == "all" { vec![String::new()] } else { quoted(rooms) };
            house.floors.push(Floor { name, recursive, rooms });
        }
    }
    if houses.is_empty() { Err("the section \"Floors\" has no table".to_owned()) } else { Ok(houses) }
}

/// What stands in backticks, without the slash and the ending that tell a reader what kind of file it is.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(|room| room.trim_end_matches('/').trim_end_matches(".rs").to_owned())
        .collect()
}

impl House {
    /// The floor on which a file stands: that of the longest room that holds it. The roots of the crate stand above all floors
    /// unless a floor names them.
    pub(crate) fn floor(&self, file: &str) -> Option<usize> {
        let stem = file.trim_end_matches(".rs").trim_end_matches("/mod");
        let rooms = self
            .floors
            .iter()
            .enumerate()
            .flat_map(|(at, floor)| floor.rooms.iter().map(move |room| (at, room)));
        let holding = rooms.filter(|(_, room)| holds(room, stem)).max_by_key(|(_, room)| room.len());
        let root = || matches!(file, "lib.rs" | "main.rs").then_some(self.floors.len());
        holding.map(|(at, _)| at).or_else(root)
    }

    /// The name of a floor.
    pub(crate) fn floor_name(&self, floor: usize) -> &str {
        self.floors.get(floor).map_or("front page", |floor| &floor.name)
    }
}

/// Whether a room is a file or holds it. Both come without `.rs`.
pub(crate) fn holds(room: &str, stem: &str) -> bool {
    room.is_empty() || stem.strip_prefix(room).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
