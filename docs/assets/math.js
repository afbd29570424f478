// Formulas are drawn by the KaTeX that lies next to this file.
for (const formula of document.querySelectorAll(".arithmatex")) {
  const text = formula.textContent;
  katex.render(text.slice(2, -2), formula, { displayMode: text.startsWith("\\["), throwOnError: true });
}
