"use strict";
// Without this script the pictures stand side by side. With it, two of them share one place, with a line to drag.
for (const row of document.querySelectorAll(".compare")) {
  const shown = [...row.querySelectorAll("figure")].map((figure) => ({
    source: figure.querySelector("img"),
    name: figure.querySelector("figcaption").textContent,
  }));
  const make = (tag, parent, name) => {
    const element = parent.appendChild(document.createElement(tag));
    if (name) element.className = name;
    return element;
  };
  const box = document.createElement("div");
  row.before(box);
  const choices = make("div", box, "choices");
  const stage = make("div", box, "stage");
  const [below, above] = [make("img", stage), make("img", stage, "above")];
  const line = make("div", stage, "line");
  const [left, right] = [make("span", stage, "left"), make("span", stage, "right")];
  const range = make("input", stage);
  range.type = "range";
  range.step = 0.1;
  range.value = 50;
  range.setAttribute("aria-label", "where one picture ends and the other begins");
  stage.style.width = row.dataset.width + "px";
  for (const picture of [below, above]) picture.className += shown[0].source.className ? " zoomed" : "";
  let timer;
  const slide = () => {
    above.style.clipPath = `inset(0 ${100 - range.value}% 0 0)`;
    line.style.left = range.value + "%";
  };
  const show = (first, second, mode) => {
    clearInterval(timer);
    row.hidden = mode !== "beside";
    stage.hidden = mode === "beside";
    [above.src, above.alt, left.textContent] = [first.source.src, first.name, first.name];
    [below.src, below.alt, right.textContent] = [second.source.src, second.name, second.name];
    line.hidden = range.hidden = mode !== "slide";
    left.hidden = right.hidden = false;
    above.style.clipPath = "none";
    above.style.visibility = "visible";
    if (mode === "slide") slide();
    if (mode === "blink") {
      let on = true;
      const turn = () => {
        above.style.visibility = on ? "visible" : "hidden";
        [left.hidden, right.hidden] = [!on, on];
        on = !on;
      };
      turn();
      timer = setInterval(turn, 800);
    }
  };
  const pairs = shown.slice(1).map((other, index) => [shown[index], other]);
  const modes = [
    ...pairs.map(([first, second]) => [`${first.name} | ${second.name}`, first, second, "slide"]),
    ["blink", shown[0], shown[1], "blink"],
    ["side by side", shown[0], shown[1], "beside"],
  ];
  const buttons = modes.map(([name, ...what]) => {
    const button = make("button", choices);
    button.type = "button";
    button.textContent = name;
    button.onclick = () => {
      buttons.forEach((other) => other.setAttribute("aria-pressed", other === button));
      show(...what);
    };
    return button;
  });
  range.oninput = slide;
  buttons[0].onclick();
}
