#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of the manual and the completions of shells from what kymo says of itself.

Run by the build: gen_manual.py --kymo PROGRAM --out FOLDER. `kymo reference` prints the table of
commands and options; what is made of it is man/kymo.1 and man/kymo-COMMAND.1, and completion/ for
bash, zsh and fish.
"""

import argparse
import json
import pathlib
import re
import subprocess

# What operands are files of a trace, and what else follows which command.
TRACES = re.compile(r"\bTRACE\b")
FILES = ("FILE", "LIB", "PATH")
FOLDERS = ("DIR", "FOLDER")


# ---- pages -------------------------------------------------------------------------------------

def roff(text):
    """Text in a page: nothing in it is a request, dashes are those that are typed."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    text = text.replace("^", "\\(ha").replace("~", "\\(ti")
    return "\n".join("\\&" + line if line.startswith(".") else line for line in text.split("\n"))


def heading(name, summary, version):
    return [f'.TH {name.upper()} 1 "" "Kymo {version}" "Kymo"', ".SH NAME", f"{roff(name)} \\- {roff(summary)}"]


def paragraphs(about):
    """Paragraphs; those whose later lines are indented, or that have columns, stay as they are."""
    for text in (about or "").split("\n\n"):
        lines = text.split("\n")
        if any(re.match(r"\s", line) or re.search(r"\S  +\S", line) for line in lines):
            yield [".PP", ".nf", *roff(text).split("\n"), ".fi"]
        elif text:
            yield [".PP", *roff(text).split("\n")]


def option_term(o):
    name = f"\\fB{roff('--' + o['name'])}\\fP"
    value = f"\\fI{roff(o['metavar'] or o['values'] or '')}\\fP"
    if o["optional"]:
        name += f"[={value}]"
    elif not o["flag"]:
        name += f" {value}"
    return (f"\\fB\\-{o['letter']}\\fP, " if o["letter"] else "") + name


def option_lines(o):
    lines = [".TP", option_term(o), roff(o["doc"]) + "."]
    if o["values"]:
        lines.append(f"Values: {', '.join(roff(v) for v in o['values'].split('|'))}.")
    if o["default"] is not None:
        lines.append(f"Default: {roff(o['default'])}.")
    return lines + [f"Variable: \\fB{o['variable']}\\fP."]


def groups(options):
    seen = []
    for o in options:
        if o["group"] not in seen:
            seen.append(o["group"])
    return seen


def see_also(data, own):
    names = [n for n in ["kymo"] + [f"kymo-{c['name']}" for c in data["commands"]] if n != own]
    return [".SH SEE ALSO"] + [f".BR {roff(n)} (1){',' if n != names[-1] else ''}" for n in names]


def command_page(data, c):
    lines = heading(f"kymo-{c['name']}", c["summary"], data["version"])
    lines += [".SH SYNOPSIS", f"\\fBkymo {c['name']}\\fP {roff(c['operands'] or '')}".rstrip()]
    about = [line for p in paragraphs(c["about"]) for line in p][1:]  # no .PP after a heading
    lines += [".SH DESCRIPTION"] + (about or [roff(c["summary"]) + "."])
    if c["name"] == "list":
        for t in data["topics"]:
            lines += [".TP", f"\\fB{roff(t['name'])}\\fP {roff(t['operands'] or '')}".rstrip(), roff(t["summary"]) + "."]
    if c["options"]:
        lines += [".SH OPTIONS"]
        for group in groups(c["options"]):
            lines += [f'.SS "{roff(group)}"']
            for o in c["options"]:
                if o["group"] == group:
                    lines += option_lines(o)
    return lines + see_also(data, f"kymo-{c['name']}")


def main_page(data):
    lines = heading("kymo", "record what a heterogeneous program does and answer questions about it", data["version"])
    lines += [".SH SYNOPSIS", "\\fBkymo\\fP [run] [OPTION]... PROGRAM [ARGUMENT]...", ".br",
              "\\fBkymo\\fP COMMAND [OPTION]... [OPERAND]...", ".SH DESCRIPTION",
              "Each command has a page of its own; \\fBkymo help\\fP \\fICOMMAND\\fP says the same in short.",
              ".SH COMMANDS"]
    for c in data["commands"]:
        lines += [".TP", f"\\fB{c['name']}\\fP", roff(c["summary"]) + f". See \\fBkymo\\-{c['name']}\\fP(1)."]
    lines += [".SH OPTIONS", ".TP", "\\fB\\-h\\fP, \\fB\\-\\-help\\fP", "Print the list of commands; of a command, its help.",
              ".TP", "\\fB\\-V\\fP, \\fB\\-\\-version\\fP", "Print the version.",
              ".TP", "\\fB\\-\\-no\\-pager\\fP \\fICOMMAND\\fP", "Print to the terminal without a pager (\\fBKYMO_PAGER\\fP).",
              ".SH ENVIRONMENT", "Each option has a variable, which its page names; the command line comes before it,",
              "a configuration file (\\fBKYMO_CONFIG\\fP) after it. Others:"]
    for v in data["variables"]:
        lines += [".TP", f"\\fB{v['name']}\\fP", roff(v["what"]) + "."]
    lines += [".SH EXIT STATUS", "0: success. 1: the answer is no. 2: the command line is wrong. 3 and up: it could not be done.",
              "\\fBkymo run\\fP passes on the status of the program, or the signal that ended it."]
    return lines + see_also(data, "kymo")


# ---- completion --------------------------------------------------------------------------------

def kind(o):
    """What completes the value of an option: values, file, folder or nothing."""
    if o["values"]:
        return "list" if o["list"] else "values"
    metavar = o["metavar"] or ""
    if metavar in FILES:
        return "file"
    return "folder" if metavar in FOLDERS else "none"


def operand_kind(c):
    if c["name"] == "run":
        return "program"
    if c["name"] == "help":
        return "command"
    if c["name"] == "list":
        return "topic"
    if c["name"] == "ctl":
        return "ctl"
    if TRACES.search(c["operands"] or ""):
        return "trace"
    return "file" if c["operands"] else "nothing"


def words_of(o):
    return (o["values"] or "").replace("|", " ")


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


BASH_HEAD = r"""# SPDX-License-Identifier: Apache-2.0
# Completion of kymo in bash. Generated by tools/gen/gen_manual.py; do not edit.

# Words that begin with what is there.
_kymo_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2"); }
# The last of several words with commas between them.
_kymo_list() {
	local before=
	[[ $2 == *,* ]] && before=${2%,*},
	mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${2##*,}")
}
_kymo_files() {
	compopt -o filenames
	mapfile -t COMPREPLY < <(compgen -f -- "$1")
}
_kymo_folders() {
	compopt -o filenames
	mapfile -t COMPREPLY < <(compgen -d -- "$1")
}
_kymo_programs() { mapfile -t COMPREPLY < <(compgen -c -- "$1"; compgen -f -- "$1"); }
# Traces; where none begins so, what may lead to one.
_kymo_traces() {
	compopt -o filenames
	mapfile -t COMPREPLY < <(compgen -d -- "$1" | grep '\.kymo$')
	((${#COMPREPLY[@]})) || _kymo_files "$1"
}
"""
BASH_MAIN = r"""
_kymo() {
	local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
	local glued= operands=0 i=2

	COMPREPLY=()
	if ((COMP_CWORD == 1)) && [[ $word != -* ]]; then
		[[ $word ]] && _kymo_programs "$word" # else all programs there are would hide the commands
		COMPREPLY=($(compgen -W "$_kymo_commands" -- "$word") "${COMPREPLY[@]}")
		return
	fi
	[[ " $_kymo_commands " == *" $command "* ]] || command=run i=1
	# `--option=value` comes as three words.
	if [[ $word == = ]]; then
		word='' glued=yes
	elif [[ $option == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]} glued=yes
	fi
	if [[ $option == -* ]] && { [[ $glued ]] || _kymo_takes "$command" "$option"; }; then
		_kymo_value "$command" "$option" "$word"
		return
	fi
	for (( ; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		=) ((i++)) ;;
		-*) [[ ${COMP_WORDS[i + 1]} != = ]] && _kymo_takes "$command" "${COMP_WORDS[i]}" && ((i++)) ;;
		*) ((operands++)) ;;
		esac
	done
	if [[ $word == -* ]] && ! [[ $command == run && $operands -gt 0 ]]; then
		_kymo_options "$command" "$word"
		[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
	else
		_kymo_operand "$command" "$operands" "$word"
	fi
}

complete -F _kymo kymo"""


def actions(data):
    """What `kymo ctl` can do, as its synopsis says: "flush|pause|resume TRACE"."""
    return next(c for c in data["commands"] if c["name"] == "ctl")["operands"].split()[0].replace("|", " ")


def bash_pattern(c, o):
    return f"{c['name']}:--{o['name']}" + (f" | {c['name']}:-{o['letter']}" if o["letter"] else "")


def bash_case(name, rows, what, fallback=""):
    out = ["", f"# {what}", f"{name}() {{", "\tcase $1:$2 in" if ":" in rows[0][0] else "\tcase $1 in"]
    out += [f"\t{pattern}) {action} ;;" for pattern, action in rows]
    return out + ([f"\t{fallback}"] if fallback else []) + ["\tesac", "}"]


def bash(data):
    names = " ".join(c["name"] for c in data["commands"])
    topics = " ".join(t["name"] for t in data["topics"])
    valued = [(c, o) for c in data["commands"] for o in c["options"] if not o["flag"]]
    takes = [(bash_pattern(c, o), "return 0") for c, o in valued if not o["optional"]]
    by_kind = {"values": "_kymo_words '{}' \"$3\"", "list": "_kymo_list '{}' \"$3\"", "file": '_kymo_files "$3"',
               "folder": '_kymo_folders "$3"', "none": ":"}
    values = [(bash_pattern(c, o), by_kind[kind(o)].format(words_of(o))) for c, o in valued]
    options = [(c["name"], "_kymo_words '" + " ".join(
        ["--" + o["name"] + ("=" if o["optional"] else "") for o in c["options"]] + ["--help"] +
        (["--version"] if c["name"] == "run" else [])) + "' \"$2\"") for c in data["commands"]]
    after = {"program": 'if (($2)); then _kymo_files "$3"; else _kymo_programs "$3"; fi',
             "command": f"_kymo_words '{names}' \"$3\"", "topic": f"_kymo_words '{topics}' \"$3\"",
             "ctl": f"if (($2)); then _kymo_traces \"$3\"; else _kymo_words '{actions(data)}' \"$3\"; fi",
             "trace": '_kymo_traces "$3"', "file": '_kymo_files "$3"', "nothing": ":"}
    operands = [(c["name"], after[operand_kind(c)]) for c in data["commands"]]
    return [BASH_HEAD, f"_kymo_commands='{names}'"] + \
        bash_case("_kymo_takes", takes, "Whether the word after an option is its value: command, option.",
                  "*) return 1 ;;") + \
        bash_case("_kymo_value", values, "The value of an option: command, option, word.") + \
        bash_case("_kymo_options", options, "Options: command, word.") + \
        bash_case("_kymo_operand", operands, "Operands: command, how many there are before, word.") + [BASH_MAIN]


def zsh_spec(o):
    value = {"values": f":{o['metavar']}:({words_of(o)})", "list": f":{o['metavar']}:_values -s , {o['metavar']} {words_of(o)}",
             "file": f":{o['metavar']}:_files", "folder": f":{o['metavar']}:_files -/",
             "none": f":{o['metavar'] or 'value'}: "}[kind(o)] if not o["flag"] else ""
    text = re.sub(r"([\[\]:\\])", r"\\\1", o["doc"])
    if o["letter"]:
        pair = f"(-{o['letter']} --{o['name']})"
        return [quoted(f"{pair}-{o['letter']}[{text}]{value}"), quoted(f"{pair}--{o['name']}[{text}]{value}")]
    if o["optional"]:
        return [quoted(f"--{o['name']}=-[{text}]:{value}")]
    return [quoted(f"--{o['name']}[{text}]{value}")]


def zsh(data):
    operand = {"program": [quoted("*:::program:_normal")], "command": [quoted(f"1:command:({' '.join(c['name'] for c in data['commands'])})")],
               "topic": [quoted(f"1:topic:({' '.join(t['name'] for t in data['topics'])})")],
               "ctl": [quoted(f"1:action:({actions(data)})"), quoted("2:trace:_files -g \"*.kymo(-/)\"")],
               "trace": [quoted("*:trace:_files -g \"*.kymo(-/)\"")], "file": [quoted("*:file:_files")],
               "nothing": []}
    out = ["#compdef kymo", "# SPDX-License-Identifier: Apache-2.0",
           "# Completion of kymo in zsh. Generated by tools/gen/gen_manual.py; do not edit.", "",
           "_kymo() {", "\tlocal -a commands", "\tcommands=("]
    out += ["\t\t" + quoted(f"{c['name']}:{c['summary'].replace(':', chr(92) + ':')}") for c in data["commands"]]
    out += ["\t)", "\tif ((CURRENT == 2)) && [[ $words[2] != -* ]]; then", "\t\t_describe command commands",
            "\t\t_command_names -e", "\t\treturn", "\tfi",
            "\tlocal command=$words[2]", "\tif ((${commands[(I)$command:*]})); then", "\t\tshift words", "\t\t((CURRENT--))",
            "\telse", "\t\tcommand=run", "\tfi", "\tcase $command in"]
    for c in data["commands"]:
        out += [f"\t{c['name']})", "\t\t_arguments -s -S " + " \\\n\t\t\t".join(
            [s for o in c["options"] for s in zsh_spec(o)] + [quoted("(- *)--help[Print the help]")] + operand[operand_kind(c)]), "\t\t;;"]
    return out + ["\tesac", "}", "", "_kymo \"$@\""]


def fish(data):
    names = " ".join(c["name"] for c in data["commands"])
    none = f"not __fish_seen_subcommand_from {names}"
    out = ["# SPDX-License-Identifier: Apache-2.0",
           "# Completion of kymo in fish. Generated by tools/gen/gen_manual.py; do not edit.", "",
           "function __kymo_traces", "\tfor path in (commandline -ct)*.kymo", "\t\ttest -d $path; and echo $path", "\tend", "end", ""]
    for c in data["commands"]:
        out += [f"complete -c kymo -n {quoted(none)} -a {c['name']} -d {quoted(c['summary'])}"]
    for c in data["commands"]:
        seen = quoted(f"__fish_seen_subcommand_from {c['name']}")
        for o in c["options"]:
            line = f"complete -c kymo -n {seen} -l {o['name']}" + (f" -s {o['letter']}" if o["letter"] else "")
            if not o["flag"]:
                line += {"values": f" -x -a {quoted(words_of(o))}", "list": f" -x -a {quoted(words_of(o))}", "file": " -r -F",
                         "folder": " -x -a '(__fish_complete_directories)'", "none": " -x"}[kind(o)] \
                    if not o["optional"] else ""
            out += [line + f" -d {quoted(o['doc'])}"]
        operand = {"command": f"-f -a {quoted(names)}", "topic": f"-f -a {quoted(' '.join(t['name'] for t in data['topics']))}",
                   "ctl": f"-f -a '{actions(data)} (__kymo_traces)'", "trace": "-f -a '(__kymo_traces)'",
                   "program": "-a '(__fish_complete_subcommand)'", "file": "", "nothing": "-f"}[operand_kind(c)]
        if operand:
            out += [f"complete -c kymo -n {seen} {operand}"]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kymo", required=True)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    args = parser.parse_args()
    data = json.loads(subprocess.run([args.kymo, "reference"], capture_output=True, text=True, check=True).stdout)
    files = {"man/kymo.1": main_page(data), "completion/kymo.bash": bash(data), "completion/_kymo": zsh(data),
             "completion/kymo.fish": fish(data)}
    files.update({f"man/kymo-{c['name']}.1": command_page(data, c) for c in data["commands"]})
    for name, lines in files.items():
        path = args.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
