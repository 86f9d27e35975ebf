"""The process behind kcl-lib: a JSON line in, a JSON line out. See official.py."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import kcl_lib.api as kcl


def main() -> None:
    # What the compiler prints by itself must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    service = kcl.API()
    for line in sys.stdin:
        question = json.loads(line)
        if "parse" in question:
            answer = _parse(service, question["parse"])
        elif "format" in question:
            answer = {"text": service.format_code(kcl.FormatCodeArgs(source=question["format"])).formatted.decode()}
        else:
            answer = _run(service, question)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _parse(service: Any, text: str) -> dict[str, Any]:
    result = service.parse_file(kcl.ParseFileArgs(path="/nowhere/main.k", source=text))
    if not result.ast_json:
        os._exit(3)  # it panicked, and answers nothing
    return {
        "errors": [
            (message.pos.line, message.pos.column, message.msg)
            for error in result.errors
            if error.level == "error" and error.code == "Error(InvalidSyntax)"
            for message in error.messages
        ]
    }


def _run(service: Any, question: dict[str, Any]) -> dict[str, Any]:
    if "run" in question:
        arguments = kcl.ExecProgramArgs(k_filename_list=["/nowhere/main.k"], k_code_list=[question["run"]])
    else:
        arguments = kcl.ExecProgramArgs(
            work_dir=question["folder"],
            k_filename_list=question["files"],
            args=[kcl.Argument(name=name, value=value) for name, value in question["options"]],
            external_pkgs=[
                kcl.ExternalPkg(pkg_name=name, pkg_path=path) for name, path in question.get("packages", [])
            ],
        )
    try:
        result = service.exec_program(arguments)
    except Exception as problem:  # the library raises nothing more particular
        return {"yaml": None, "complaint": str(problem)}
    if result.err_message:
        return {"yaml": None, "complaint": result.err_message}
    return {"yaml": result.yaml_result, "complaint": ""}


if __name__ == "__main__":
    main()
