"""Holds prose against scripts/banned-phrases.txt and, with codespell, against a dictionary of British English.

    check_language.py CODESPELL [PATH...]

Of Markdown, that is everything but fenced blocks, which show what programs print; of Rust, TypeScript, shell and the
Makefile, comments and string literals. Each file is written to a temporary folder with everything else masked, so that
lines and columns stay and neither check meets an identifier. Exit status: 0 nothing found, 1 findings, 2 bad arguments.
"""

import os
import re
import subprocess
import sys
import tempfile

PHRASES = "scripts/banned-phrases.txt"
ALLOWED_WORDS = "scripts/spelling-allowed.txt"
# What tests read and what they compare with is not Weir's prose.
DATA = re.compile(r"(^|/)(tests/data|fixtures|seeds|node_modules)/|fixtures\.(ts|mjs)$")
# Stands for a character that is not prose; no phrase and no word contains it.
MASK = "~"

C_LIKE = re.compile(
    r"""(?P<comment>//[/!]?[^\n]*|/\*.*?\*/)"""
    r"""|r(?P<hashes>\#*)"(?P<raw>.*?)"(?P=hashes)"""
    r"""|"(?P<string>(?:\\.|[^"\\])*)\""""
    r"""|'(?:\\[^\n]|[^'\\\n])'""",
    re.S,
)
TYPESCRIPT = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"""|`(?P<raw>(?:\\.|[^`\\])*)`"""
    r"""|"(?P<string>(?:\\.|[^"\\\n])*)\""""
    r"""|'(?P<quoted>(?:\\.|[^'\\\n])*)'""",
    re.S,
)
SHELL = re.compile(
    r"""(?:(?<=\s)|^)(?P<comment>\#[^\n]*)"""
    r"""|"(?P<string>(?:\\.|[^"\\])*)\""""
    r"""|'(?P<quoted>[^']*)'""",
    re.S | re.M,
)
MARKDOWN_CODE = re.compile(r"^([ ]*)(```+|~~~+).*?^[ ]*\2|`[^`\n]+`|\]\([^)\s]*\)|<[^>\s]*>|https?://\S+", re.S | re.M)
INLINE_CODE = re.compile(r"`[^`\n]+`|https?://\S+|\[[^\]\n]*::[^\]\n]*\]|[^\s\"]+=[^\s\"]+")
# A backslash with what it escapes, a placeholder and the sign that opens a comment are no part of a sentence.
ESCAPE = re.compile(r"\\(\n|.)|\{[^{}\n]*\}", re.S)
COMMENT_SIGN = re.compile(r"^(\s*)(///|//!|//|/\*+|#!?|\*/?)", re.M)


def masked(text):
    return re.sub(r"\S", MASK, text)


def blanked(text):
    return re.sub(r"\S", " ", text)


def sentence(text):
    text = INLINE_CODE.sub(lambda code: masked(code[0]), text)
    return ESCAPE.sub(lambda code: blanked(code[0]) if code[0][0] == "\\" else masked(code[0]), text)


def prose_of_code(text, language):
    parts, end = [], 0
    for found in language.finditer(text):
        groups = found.groupdict()
        kind = next((k for k in ("comment", "raw", "string", "quoted") if groups.get(k) is not None), None)
        # White space after a comment joins it with one on the next line; everything else parts sentences.
        parts.append(masked(text[end : found.start()]))
        if kind == "comment":
            parts.append(sentence(COMMENT_SIGN.sub(lambda sign: blanked(sign[0]), found[0])))
        elif kind is None:
            parts.append(masked(found[0]))
        else:
            before, after = found.start(kind) - found.start(), found.end(kind) - found.start()
            parts += [masked(found[0][:before]), sentence(found[kind]), masked(found[0][after:])]
        end = found.end()
    return "".join([*parts, masked(text[end:])])


def prose_of(path, text):
    if path.endswith(".md"):
        return MARKDOWN_CODE.sub(lambda code: masked(code[0]), text)
    if path.endswith(".rs"):
        return prose_of_code(text, C_LIKE)
    return prose_of_code(text, TYPESCRIPT if path.endswith(".ts") else SHELL)


def files_under(paths):
    kinds = ("*.md", "*.rs", "*.ts", "*.sh", "Makefile")
    listed = subprocess.run(["git", "ls-files", "-z", "--", *paths], check=True, capture_output=True, text=True)
    names = [name for name in listed.stdout.split("\0") if name.endswith(tuple(k.lstrip("*") for k in kinds))]
    return [name for name in names if not DATA.search(name) and os.path.exists(name)]


def whole_words(expression):
    return re.compile(rf"(?<![\w-])(?:{expression})(?![\w-])", re.I)


def phrases():
    """One expression for whatever the list has, and those of the list, each with what to write instead."""
    found = []
    with open(PHRASES, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            expression, tab, instead = line.partition("\t")
            if not tab or not instead:
                sys.exit(f"error: {PHRASES}:{number}: an expression, a tab and what to write instead are needed")
            found.append((expression.replace(" ", r"\s+"), instead))
    each = [(whole_words(expression), instead) for expression, instead in found]
    return whole_words("|".join(f"(?:{expression})" for expression, _ in found)), each


def banned(name, prose, banned_phrases):
    whichever, each = banned_phrases
    # One search in place of dozens: most files have none.
    if not whichever.search(prose):
        return
    for expression, instead in each:
        for hit in expression.finditer(prose):
            line = prose.count("\n", 0, hit.start()) + 1
            yield line, f"{name}:{line}: {' '.join(hit[0].split())} -> {instead}"


def american_words(codespell, folder):
    """A dictionary of American spellings: the one that codespell has for the other direction, turned round."""
    data = subprocess.run(
        [os.path.join(os.path.dirname(codespell), "python3"), "-c", "import codespell_lib; print(codespell_lib.__path__[0])"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    path = os.path.join(folder, "american.txt")
    with open(os.path.join(data, "data", "dictionary_en-GB_to_en-US.txt"), encoding="utf-8") as british:
        pairs = [line.strip().partition("->") for line in british if "->" in line]
    with open(path, "w", encoding="utf-8") as american:
        american.writelines(f"{us}->{gb}\n" for gb, _, us in pairs)
    return path


def misspelt(codespell, tree, dictionary, allowed):
    run = subprocess.run(
        [codespell, "--builtin", "clear,rare,informal", "--dictionary", "-", "--dictionary", dictionary,
         "--ignore-words", allowed, "--quiet-level", "35", "."],
        cwd=tree, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if run.returncode not in (0, 65):
        sys.exit(f"error: codespell failed with status {run.returncode}: {run.stderr.strip()}")
    return [line.removeprefix("./").replace(" ==> ", " -> ") for line in run.stdout.splitlines()]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    codespell, names = os.path.abspath(sys.argv[1]), files_under(sys.argv[2:])
    if not names:
        print(f"error: no Markdown, Rust, TypeScript or shell file is tracked under {' '.join(sys.argv[2:])}", file=sys.stderr)
        return 2
    banned_phrases, findings = phrases(), []
    with tempfile.TemporaryDirectory() as folder:
        tree = os.path.join(folder, "tree")
        for name in names:
            with open(name, encoding="utf-8") as file:
                prose = prose_of(name, file.read())
            findings += [text for _, text in sorted(banned(name, prose, banned_phrases))]
            os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
            with open(os.path.join(tree, name), "w", encoding="utf-8") as file:
                file.write(prose)
        findings += misspelt(codespell, tree, american_words(codespell, folder), os.path.abspath(ALLOWED_WORDS))
    print("\n".join(findings) if findings else f"{len(names)} files: no banned phrase, no misspelt word")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
