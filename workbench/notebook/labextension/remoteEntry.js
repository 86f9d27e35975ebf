// What JupyterLab has to know of KCL: the type of its files, and which cells of a notebook are programs in it.
// jupyterlab-lsp then asks `kcl lsp` about both. JupyterLab loads this file as it is: there is nothing to build.
(() => {
  const NAME = "konfig-workbench-kcl";
  const MIME_TYPE = "text/x-kcl";
  const MAGIC = /^%%kcl\b[^\n]*(\n|$)/;

  // The lines below `%%kcl` are a program of their own, as the magic runs them: what another cell declares is not seen.
  const extractor = {
    language: "kcl",
    standalone: true,
    fileExtension: "k",
    cellType: ["code"],
    hasForeignCode: (code, type) => type === "code" && MAGIC.test(code),
    extractForeignCode: (code) => {
      const found = MAGIC.exec(code);
      if (found === null || found[1] === "") {
        return [{ hostCode: "", foreignCode: null, range: null, virtualShift: null }];
      }
      const text = code.slice(found[0].length);
      const lines = text.split("\n");
      const range = {
        start: { line: 1, column: 0 },
        end: { line: lines.length, column: lines[lines.length - 1].length },
      };
      return [{ hostCode: "", foreignCode: text, range, virtualShift: null }];
    },
  };

  // KCL's words are near enough to Python's for colours in an editor that has no grammar of KCL.
  const language = (languages) => ({
    name: "kcl",
    displayName: "KCL",
    mime: MIME_TYPE,
    extensions: ["k"],
    load: async () => (await languages.getLanguage("python")).support,
  });

  const plugin = (lsp, codemirror) => ({
    id: `${NAME}:plugin`,
    description: "Files and cells of KCL.",
    autoStart: true,
    requires: [codemirror.IEditorLanguageRegistry],
    optional: [lsp.ILSPCodeExtractorsManager],
    activate: (app, languages, extractors) => {
      languages.addLanguage(language(languages));
      app.docRegistry.addFileType({
        name: "kcl",
        displayName: "KCL File",
        extensions: [".k"],
        mimeTypes: [MIME_TYPE],
        fileFormat: "text",
        contentType: "file",
      });
      if (extractors) {
        extractors.register(extractor, null);
      }
    },
  });

  let shared;

  // A module as JupyterLab itself has it. Other extensions bring versions of their own, whose tokens mean other things.
  const module = async (name) => {
    const every = Object.values(shared[name] || {});
    const own = every.find((each) => each.loaded) || every.find((each) => each.eager) || every[every.length - 1];
    if (own === undefined) {
      throw new Error(`${NAME}: this JupyterLab has no ${name}`);
    }
    return (await own.get())();
  };

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB[NAME] = {
    init: (scope) => {
      shared = scope;
    },
    get: async () => {
      const made = plugin(await module("@jupyterlab/lsp"), await module("@jupyterlab/codemirror"));
      return () => ({ __esModule: true, default: made });
    },
  };
})();
