// The client of the language server: starts it in trusted workspaces, and again when its settings change.

import { commands, ExtensionContext, window, workspace } from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

function settings(): { command: string; args: string[] } {
  const found = workspace.getConfiguration("kcl.server");
  return { command: found.get("command", "kcl"), args: found.get("arguments", ["lsp"]) };
}

async function start(): Promise<void> {
  if (!workspace.isTrusted) {
    return; // the server reads what the workspace names, and `wb lsp` runs its programs
  }
  const { command, args } = settings();
  const options = { cwd: workspace.workspaceFolders?.[0]?.uri.fsPath };
  const server: ServerOptions = { command, args, options };
  const documents: LanguageClientOptions = { documentSelector: [{ scheme: "file", language: "kcl" }] };
  client = new LanguageClient("kcl", "KCL", server, documents);
  try {
    await client.start();
  } catch (problem) {
    client = undefined;
    const wanted = [command, ...args].join(" ");
    void window.showErrorMessage(
      `KCL: '${wanted}' can't be started (${problem}). Install it with pip install 'konfig-workbench[lsp]', ` +
        "or name it in the setting kcl.server.command.",
    );
  }
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function show(command: string, needs: string, ...args: unknown[]): Promise<void> {
  const offered = client?.initializeResult?.capabilities.executeCommandProvider?.commands ?? [];
  if (!client || !offered.includes(command)) {
    void window.showInformationMessage(`KCL: this needs ${needs}.`);
    return;
  }
  const content = await client.sendRequest<string>("workspace/executeCommand", { command, arguments: args });
  await window.showTextDocument(await workspace.openTextDocument({ content }), { preview: true });
}

function showEffect(): Promise<void> {
  return show("kcl.effect", "the server that knows stacks: set kcl.server.command to wb");
}

async function showLive(): Promise<void> {
  const editor = window.activeTextEditor;
  if (editor) {
    const needs = "the server that asks clusters: set kcl.server.command to wb, and kcl.server.arguments to lsp, --live";
    await show("kcl.live", needs, editor.document.uri.toString(), editor.selection.active.line);
  }
}

export async function activate(context: ExtensionContext): Promise<void> {
  const again = async (): Promise<void> => {
    await stop();
    await start();
  };
  context.subscriptions.push(
    commands.registerCommand("kcl.restart", again),
    commands.registerCommand("kcl.showEffect", showEffect),
    commands.registerCommand("kcl.showLive", showLive),
    workspace.onDidGrantWorkspaceTrust(again),
    workspace.onDidChangeConfiguration((change) => (change.affectsConfiguration("kcl.server") ? again() : undefined)),
  );
  await start();
}

export function deactivate(): Promise<void> {
  return stop();
}
