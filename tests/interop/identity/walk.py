"""A person goes from a link to the client's own address, and its whole text is printed. Usage: walk.py LINK PERSON CALLBACK"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oauth"))
import person  # noqa: E402

link, login, callback = sys.argv[1:]
print(person.visit(link, login, stop=callback)[0])
