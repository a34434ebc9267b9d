// Zoom keeps its place: the point under the pointer, or the middle, stays where it is.
function zoom(to, x = figure.clientWidth / 2, y = figure.clientHeight / 2) {
  to = Math.max(.4, Math.min(6, to));
  const svg = figure.querySelector("svg"), box = figure.getBoundingClientRect(), was = svg.getBoundingClientRect(), by = to / state.zoom;
  state.zoom = to;
  for (const side of ["width", "height"]) svg.setAttribute(side, svg.getAttribute(side) * by);
  const now = svg.getBoundingClientRect();
  const [left, top] = [(box.left + x - was.left) / was.width, (box.top + y - was.top) / was.height];
  figure.scrollBy(now.left + left * now.width - box.left - x, now.top + top * now.height - box.top - y);
}

figure.addEventListener("wheel", event => {
  if (!event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  const box = figure.getBoundingClientRect();
  zoom(state.zoom * Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
}, { passive: false });

// Two fingers.
let fingers = null;
const apart = ([a, b]) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
figure.addEventListener("touchstart", event => { fingers = event.touches.length === 2 ? { long: apart(event.touches), zoom: state.zoom } : null; });
figure.addEventListener("touchmove", event => {
  if (!fingers || event.touches.length !== 2) return;
  event.preventDefault();
  const box = figure.getBoundingClientRect(), [a, b] = event.touches;
  zoom(fingers.zoom * apart(event.touches) / fingers.long, (a.clientX + b.clientX) / 2 - box.left, (a.clientY + b.clientY) / 2 - box.top);
}, { passive: false });
