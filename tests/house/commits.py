"""commits.py ROOT | --self-test - the messages of commits have the form that CONTRIBUTING.md asks for.

Looks at the commits since the newest tag; where the repository has no tag, at those since the
commit at which the rule was begun. In a clone without that commit only the last commit is read.
Merges are not looked at: their messages are made by git.
"""

import re
import subprocess
import sys
from pathlib import Path

import tree

BEGUN = "95257f0e19f5"
SUBJECT = 72
FILES = 10
ROOM = re.compile(r"^[a-z0-9][a-z0-9_./, -]*: \S")


def faults(subject, body, files):
    """What is wrong with one commit's message, as sentences."""
    found = []
    if len(subject) > SUBJECT:
        found.append(f"the subject has {len(subject)} characters, more than {SUBJECT}")
    if not ROOM.match(subject):
        found.append('the subject is not of the form "room: imperative"')
    if subject.endswith("."):
        found.append("the subject ends with a full stop")
    if files > FILES and not body.strip():
        found.append(f"{files} files change, and no body says why")
    return found


def git(root, *words):
    """What git prints, or None if it fails."""
    done = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def since(root):
    """The range of commits to look at, as words of git log."""
    tag = git(root, "describe", "--tags", "--abbrev=0")
    first = tag.strip() if tag else BEGUN
    if git(root, "merge-base", "--is-ancestor", first, "HEAD") is None:
        print(f"{first} is not in this clone: only the last commit is read")
        return ["-1", "HEAD"]
    return [f"{first}..HEAD"]


def commits(root):
    """(short name, subject, body, number of files) of each commit."""
    log = git(root, "log", "--no-merges", "--name-only", "--format=%x01%h%x00%s%x00%b%x00",
              *since(root))
    for entry in log.split("\x01")[1:]:
        name, subject, body, files = entry.split("\0")
        yield name, subject, body, len(files.split())


def self_test():
    """The rule against messages that keep it, and messages that break it."""
    assert not faults("coll: name both roots", "", FILES)
    assert not faults("coll, comm: name both roots", "Why.", FILES + 1)
    assert faults("coll: name both roots", " \n", FILES + 1)
    assert faults("name both roots", "", 1)
    assert faults("coll: name both roots.", "", 1)
    assert faults("coll: " + "x" * SUBJECT, "", 1)


def main():
    if sys.argv[1] == "--self-test":
        self_test()
        return
    root = sys.argv[1]
    if not (Path(root) / ".git").exists():
        print(f"{root} is not a git tree: nothing to check")
        sys.exit(tree.SKIPPED)
    found = [f"{name} {subject}: {fault}" for name, subject, body, files in commits(root)
             for fault in faults(subject, body, files)]
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
