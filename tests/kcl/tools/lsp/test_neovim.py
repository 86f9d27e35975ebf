"""Neovim, without a screen, as the client: opens a stack, gets diagnostics, jumps, completes and renames."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kcl.conformance import ROOT

NEOVIM = shutil.which("nvim")

SCRIPT = """
local function fail(said) io.stderr:write(said .. "\\n") vim.cmd("cquit 1") end
local out = {}
local client = vim.lsp.start_client({
  name = "kcl", cmd = COMMAND, root_dir = FOLDER, cmd_cwd = CHECKOUT,
})
local buffer = vim.api.nvim_get_current_buf()
vim.lsp.buf_attach_client(buffer, client)
local function wait(what, is_it)
  if not vim.wait(30000, is_it, 20) then fail("no " .. what) end
end
local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(buffer, method, params, 30000)
  local answer = answers and answers[client]
  if not answer or answer.error then fail(method .. vim.inspect(answers)) end
  return answer.result
end
wait("start", function() local c = vim.lsp.get_client_by_id(client) return c and c.initialized end)
vim.api.nvim_buf_set_lines(buffer, -1, -1, false, { "wrong: int = 'a'" })
wait("diagnostics", function() return #vim.diagnostic.get(buffer) > 0 end)
out.diagnostics = vim.tbl_map(function(each) return each.code end, vim.diagnostic.get(buffer))
vim.api.nvim_buf_set_lines(buffer, -2, -1, false, {})
wait("end of diagnostics", function() return #vim.diagnostic.get(buffer) == 0 end)
vim.api.nvim_buf_set_lines(buffer, -1, -1, false, { "_idle=1" })
wait("finding of the linter", function() return #vim.diagnostic.get(buffer) > 0 end)
out.findings = vim.tbl_map(function(each) return { each.code, each.source, each.severity } end,
  vim.diagnostic.get(buffer))
local text = { uri = vim.uri_from_bufnr(buffer) }
vim.lsp.util.apply_text_edits(ask("textDocument/formatting",
  { textDocument = text, options = { tabSize = 4, insertSpaces = true } }), buffer, "utf-16")
out.laid_out = vim.api.nvim_buf_get_lines(buffer, -2, -1, false)[1]
local last = { line = vim.api.nvim_buf_line_count(buffer) - 1, character = 0 }
local actions = ask("textDocument/codeAction",
  { textDocument = text, range = { start = last, ["end"] = last }, context = { diagnostics = {} } })
for _, each in ipairs(actions) do
  if each.title:find("Allow W3002", 1, true) then vim.lsp.util.apply_workspace_edit(each.edit, "utf-16") end
end
out.allowed = vim.api.nvim_buf_get_lines(buffer, -2, -1, false)[1]
vim.api.nvim_buf_set_lines(buffer, -2, -1, false, {})
wait("end of findings", function() return #vim.diagnostic.get(buffer) == 0 end)
out.definition = ask("textDocument/definition", { textDocument = text, position = { line = 2, character = 14 } }).uri
out.completion = vim.tbl_map(function(each) return each.label end,
  ask("textDocument/completion", { textDocument = text, position = { line = 3, character = 4 } }))
local edit = ask("textDocument/rename",
  { textDocument = text, position = { line = 2, character = 14 }, newName = "Website" })
vim.lsp.util.apply_workspace_edit(edit, "utf-16")
vim.cmd("wall")
io.stdout:write(vim.json.encode(out))
vim.cmd("qall!")
"""


@pytest.mark.skipif(NEOVIM is None, reason="Neovim is not installed: apt-get install neovim")
def test_neovim_opens_a_stack(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "kcl.mod").write_text("")
    (tmp_path / "models" / "server.k").write_text("schema Server:\n    image: str\n    replicas: int = 1\n")
    for number in range(12):
        folder = tmp_path / f"stack{number}"
        folder.mkdir()
        (folder / "main.k").write_text("import models.server\n\nweb = server.Server {\n    image = 'x'\n}\n")
    opened = tmp_path / "stack0" / "main.k"
    script = tmp_path / "script.lua"
    told = {
        "COMMAND": f'{{ "{sys.executable}", "-m", "kcl", "lsp" }}',
        "FOLDER": f'"{tmp_path}"',
        "CHECKOUT": f'"{ROOT}"',
    }
    script.write_text("".join(f"{name} = {value}\n" for name, value in told.items()) + SCRIPT)
    done = subprocess.run(
        [str(NEOVIM), "--headless", "--clean", "-n", str(opened), "-c", f"luafile {script}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["diagnostics"] == ["E2G22"]
    assert found["findings"] == [["W3002", "kcl lint", 3]]
    assert found["laid_out"] == "_idle = 1"
    assert found["allowed"] == "_idle = 1  # kcl-lint: allow W3002 because "
    assert found["definition"] == (tmp_path / "models" / "server.k").as_uri()
    assert "replicas" in found["completion"]
    texts = [path.read_text() for path in sorted(tmp_path.glob("stack*/main.k"))]
    assert len(texts) == 12
    assert all("web = server.Website {" in text for text in texts)
    assert (tmp_path / "models" / "server.k").read_text().startswith("schema Website:")
