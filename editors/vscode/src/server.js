// Starts the server, and says in one line what is wrong where it does not start.
"use strict";

const vscode = require("vscode");
const { spawn } = require("node:child_process");
const os = require("node:os");
const path = require("node:path");

/** The program of the setting `attnc.path`. */
function command() {
  const folder = (vscode.workspace.workspaceFolders || [])[0];
  const root = folder ? folder.uri.fsPath : os.homedir();
  const given = vscode.workspace.getConfiguration("attnc").get("path") || "attnc";
  const full = given.replace(/\$\{workspaceFolder\}/g, root).replace(/^~(?=[/\\]|$)/, os.homedir());
  return { program: /[/\\]/.test(full) ? path.resolve(root, full) : full, folder: root };
}

/** A running server; rejects, after a message, if there is none. */
function serve({ program, folder }) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ["lsp", "--stdio"], { cwd: folder });
    let last = "";
    child.once("error", (problem) => {
      const why = problem.code === "ENOENT" ? "was not found" : `cannot be started (${problem.message})`;
      const how = 'Install it (in a clone of attnc: `pip install ".[lsp]"`), or set its path.';
      complain(`attnc: the program \`${program}\` ${why}. ${how}`);
      reject(problem);
    });
    child.once("spawn", () => resolve(child));
    child.stderr.on("data", (data) => {
      last = String(data).trim().split("\n").pop() || last;
    });
    child.once("exit", (status) => {
      if (status) complain(last || `attnc: the language server ended with status ${status}.`);
    });
  });
}

async function complain(message) {
  const choice = await vscode.window.showErrorMessage(message, "Open Settings");
  if (choice) await vscode.commands.executeCommand("workbench.action.openSettings", "attnc.path");
}

module.exports = { command, serve };
