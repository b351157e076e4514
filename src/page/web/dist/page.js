"use strict";
// Stands here until the page's script is bundled: shows that the data can be read.
(() => {
  const head = JSON.parse(document.getElementById("kymo-head").textContent);
  const place = document.getElementById("kymo");
  for (const line of [head.trace.name, head.digest, head.loss.text, head.clock.text, head.overhead.text, ...head.kept]) {
    const p = document.createElement("pre");
    p.textContent = line;
    place.append(p);
  }
})();
