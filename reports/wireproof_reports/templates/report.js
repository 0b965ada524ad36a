"use strict";
(function () {
  var find = document.getElementById("find");
  var show = document.getElementById("show");
  var found = document.getElementById("found");
  var clauses = Array.prototype.slice.call(document.querySelectorAll("details.clause"));
  var texts = clauses.map(function (clause) { return clause.textContent.toLowerCase(); });

  function apply() {
    var words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    var verdict = show.value;
    var left = 0;
    clauses.forEach(function (clause, index) {
      var fits = words.every(function (word) { return texts[index].indexOf(word) >= 0; });
      var verdicts = clause.dataset.verdicts.split(" ");
      clause.hidden = !fits || (verdict !== "" && verdicts.indexOf(verdict) < 0);
      clause.querySelectorAll("details.case").forEach(function (item) {
        item.hidden = verdict !== "" && item.dataset.verdict !== verdict;
      });
      left += clause.hidden ? 0 : 1;
    });
    document.querySelectorAll(".group").forEach(function (group) {
      group.hidden = !group.querySelector("details.clause:not([hidden])");
    });
    found.textContent = left + " of " + clauses.length + " clauses";
  }

  function open(all) {
    clauses.forEach(function (clause) { if (!clause.hidden) { clause.open = all; } });
  }

  function reveal() {
    var name = decodeURIComponent(location.hash.slice(1));
    var place = name && document.getElementById(name);
    if (!place) { return; }
    for (var item = place; item; item = item.parentElement) {
      item.hidden = false;
      if (item.tagName === "DETAILS") { item.open = true; }
    }
    place.scrollIntoView();
  }

  function copying(block) {
    var button = document.createElement("button");
    button.type = "button";
    button.className = "copy-button";
    button.textContent = "Copy";
    button.addEventListener("click", function () {
      navigator.clipboard.writeText(block.textContent).then(
        function () { button.textContent = "Copied"; },
        function () { getSelection().selectAllChildren(block); button.textContent = "Selected"; });
    });
    var frame = document.createElement("div");
    frame.className = "copying";
    block.parentNode.insertBefore(frame, block);
    frame.appendChild(block);
    frame.appendChild(button);
  }

  var packs = {};

  function unpack(number) {
    if (!packs[number]) {
      var text = atob(document.getElementById("pack-" + number).textContent);
      var bytes = Uint8Array.from(text, function (sign) { return sign.charCodeAt(0); });
      var whole = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
      packs[number] = new Response(whole).json();
    }
    return packs[number];
  }

  function fill(item) {
    var part = document.createElement("div");
    item.appendChild(part);
    unpack(item.dataset.pack).then(function (parts) {
      part.innerHTML = parts[Number(item.dataset.part)];
      part.querySelectorAll("a[download]").forEach(function (link) {
        var script = link.parentElement.nextElementSibling.textContent;
        link.href = "data:text/x-python;charset=utf-8," + encodeURIComponent(script);
      });
      if (navigator.clipboard) { part.querySelectorAll("pre.copy").forEach(copying); }
    }).catch(function () {
      part.textContent = "This browser cannot decompress this part: use a newer one, or read it in the bundle.";
    });
  }

  document.querySelectorAll("details.packed").forEach(function (item) {
    item.addEventListener("toggle", function () { fill(item); }, { once: true });
  });

  var links = {};
  document.querySelectorAll(".contents a").forEach(function (link) {
    links[link.hash.slice(1)] = link;
  });
  if ("IntersectionObserver" in window) {
    var watcher = new IntersectionObserver(function (entries) {
      entries.forEach(function (entry) {
        if (!entry.isIntersecting) { return; }
        Object.keys(links).forEach(function (id) { links[id].removeAttribute("aria-current"); });
        links[entry.target.id].setAttribute("aria-current", "true");
      });
    }, { rootMargin: "-20% 0px -75% 0px" });
    document.querySelectorAll("main > section").forEach(function (part) { watcher.observe(part); });
  }

  if (navigator.clipboard) { document.querySelectorAll("pre.copy").forEach(copying); }
  document.getElementById("tools").hidden = false;
  document.getElementById("tools").addEventListener("submit", function (event) {
    event.preventDefault();
  });
  document.getElementById("expand").addEventListener("click", function () { open(true); });
  document.getElementById("collapse").addEventListener("click", function () { open(false); });
  find.addEventListener("input", apply);
  show.addEventListener("change", apply);
  addEventListener("hashchange", reveal);
  apply();
  reveal();
})();
