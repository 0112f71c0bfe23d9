//! The policy file, and what it says of calls.

use crate::bounds::{Charged, bounded};
use crate::generate::Choices;
use crate::generate::documents;
use ptc_host::policy::path::Folder;
use ptc_host::policy::{Access, Caller, Claim, Policy, Verdict};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

const TOOLS: [&str; 6] = ["get_a", "get_secret", "put", "a", "GET_A", "ge\u{442}_a"];

/// Any text is a policy or an error on one line that says where; what explains a decision says what is decided; and a path that is
/// accepted lies under its folder, as it is and decoded.
pub fn policy(data: &[u8]) {
    let text = std::str::from_utf8(data).ok().filter(|text| text.starts_with('{'));
    let mut choices = Choices::new(if text.is_some() { &[] } else { data });
    let (text, arguments) = match text.and_then(|text| text.split_once('\n')) {
        Some((file, arguments)) => (file.to_owned(), arguments.to_owned()),
        None => match text {
            Some(text) => (text.to_owned(), "{}".to_owned()),
            None => {
                let file = documents::policy(&mut choices).to_string();
                (file, documents::arguments(&mut choices).to_string())
            }
        },
    };
    match bounded("a policy", text.len(), || (Policy::parse(&text), Charged::default())) {
        Ok(policy) => decide(&policy, &arguments),
        Err(error) => {
            let error = error.to_string();
            assert!(error.starts_with("policy: ") && !error.contains(char::is_control), "{error:?}");
        }
    }
    paths(&String::from_utf8_lossy(choices.all()));
}

fn decide(policy: &Policy, arguments: &str) {
    let claims = [Claim { name: "groups".into(), values: ["dev".into()].into() }];
    let ann = Caller { scopes: ["write".into()].into(), claims: claims.into(), ..Caller::named("ann") };
    for caller in [ann, Caller::named("ben")] {
        let grant = policy.grant(&caller);
        assert!(Arc::ptr_eq(&grant, &policy.grant(&caller)), "one grant for the same rules");
        for (upstream, tool) in ["s", "t"].into_iter().flat_map(|s| TOOLS.map(|tool| (s, tool))) {
            let access = grant.tool(upstream, tool);
            assert!(
                access == Access::Hidden || grant.upstream(upstream),
                "{upstream}.{tool} has an upstream"
            );
            let permitted = grant.check_arguments(upstream, tool, arguments);
            let told = policy.explain(&caller, upstream, tool, Some(arguments));
            let is_told = match (&told.verdict, access) {
                (Verdict::Allowed, Access::Allowed) => permitted.is_ok(),
                (Verdict::Refused(refusal), Access::Allowed) => permitted.as_ref() == Err(refusal),
                (Verdict::Listed, Access::Listed) | (Verdict::Hidden, Access::Hidden) => true,
                _ => false,
            };
            assert!(is_told, "{upstream}.{tool} {arguments}: {access:?}, {permitted:?}, {told:?}");
            if let Err(refusal) = permitted {
                assert!(!refusal.to_string().contains(char::is_control), "{refusal:?}");
            }
        }
    }
}

/// The path, and one behind the folder, as it is and decoded again and again.
fn paths(text: &str) {
    let folder = Folder::new("/a/b", false, false).expect("a folder");
    for path in [text.to_owned(), format!("/a/b/{text}"), format!("/a/b{text}")] {
        if !folder.holds(&path) {
            continue;
        }
        let mut read = path.clone();
        for _ in 0..6 {
            let cut = read.split(['?', '#']).next().unwrap_or_default();
            for read in [&*read, cut, &read.replace("%2e", ".")] {
                let normal = normalized(read);
                assert!(normal.is_some_and(|normal| normal.starts_with("/a/b")), "{path:?} as {read:?}");
            }
            read = decoded(&read);
        }
    }
}

fn normalized(path: &str) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in Path::new(path).components() {
        match component {
            Component::ParentDir => {
                normal.file_name()?;
                normal.pop();
            }
            Component::CurDir => {}
            component => normal.push(component),
        }
    }
    Some(normal)
}

fn decoded(path: &str) -> String {
    let (mut out, mut rest) = (Vec::new(), path.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|_| *first == b'%').and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An oracle over files that are refused would check nothing.
    #[test]
    fn many_generated_policies_are_read_and_grant_something() {
        let made: Vec<Policy> = crate::seeds::noise()
            .iter()
            .filter_map(|noise| Policy::parse(&documents::policy(&mut Choices::new(noise)).to_string()).ok())
            .collect();
        let grants = made.iter().filter(|policy| policy.grant(&Caller::named("ann")).upstream("s")).count();
        assert!(made.len() > 20 && grants > 5, "{} are read, {grants} grant something", made.len());
    }
}
