// Keeps every file of this folder, so that the page works without a network once it was loaded. A new build has another
// name of its store, and the old one goes.
const STORE = "__VERSION__", FILES = __FILES__;

addEventListener("install", event => event.waitUntil((async () => {
  const store = await caches.open(STORE);
  await store.addAll(FILES.map(file => new Request(file, { cache: "reload" })));
  await skipWaiting();
})()));

addEventListener("activate", event => event.waitUntil((async () => {
  for (const name of await caches.keys()) if (name.startsWith("attnc-playground-") && name !== STORE) await caches.delete(name);
  await clients.claim();
})()));

addEventListener("fetch", event => {
  if (event.request.method !== "GET" || !event.request.url.startsWith(registration.scope)) return;
  event.respondWith((async () => (await (await caches.open(STORE)).match(event.request, { ignoreSearch: true })) ?? fetch(event.request))());
});
