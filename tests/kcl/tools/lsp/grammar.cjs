// node grammar.cjs NODE_MODULES GRAMMAR FILE...: prints as JSON, by file, the scopes of each token as VS Code finds them.
const fs = require("fs");
const path = require("path");
const [modules, grammar, ...files] = process.argv.slice(2);
const textmate = require(path.join(modules, "vscode-textmate"));
const oniguruma = require(path.join(modules, "vscode-oniguruma"));

async function main() {
  const wasm = fs.readFileSync(path.join(modules, "vscode-oniguruma", "release", "onig.wasm"));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => textmate.parseRawGrammar(fs.readFileSync(grammar, "utf8"), grammar),
  });
  const kcl = await registry.loadGrammar("source.kcl");
  const found = {};
  for (const file of files) {
    let state = textmate.INITIAL;
    found[file] = fs.readFileSync(file, "utf8").split(/\r?\n/).flatMap((line) => {
      const told = kcl.tokenizeLine(line, state);
      state = told.ruleStack;
      return told.tokens.map((each) => [line.slice(each.startIndex, each.endIndex), each.scopes]);
    });
  }
  process.stdout.write(JSON.stringify(found));
}
main();
