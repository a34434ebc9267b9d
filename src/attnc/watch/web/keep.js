/* Runs in the figure's page, where it is shown as its file is written: what takes the place of a page opens what was open there. */
{
  const name = `attnc watch ${data.name}`, kept = JSON.parse(sessionStorage.getItem(name));
  if (kept) {
    if (kept.mode) document.documentElement.dataset.mode = kept.mode;
    if (kept.folded && data.folded !== null) state.root = data.folded;
    state.open.clear();
    openNamed(kept.open);
    if (kept.zoom !== 1) zoom(kept.zoom);
    figure.scrollTo(...kept.at);
  }
  addEventListener("pagehide", () => sessionStorage.setItem(name, JSON.stringify({
    mode: document.documentElement.dataset.mode, folded: state.root === data.folded, zoom: state.zoom,
    open: [...state.open].map(path => data.levels[factOf(path).b].name), at: [figure.scrollLeft, figure.scrollTop],
  })));
}
