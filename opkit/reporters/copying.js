for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    try { await navigator.clipboard.writeText(button.dataset.copy); button.textContent = "copied"; }
    catch { getSelection().selectAllChildren(button.previousElementSibling); button.textContent = "selected"; }
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });
}
