// Charts are drawn from the tables beside them, so that a chart never shows what its table does not say. Plotly is fetched
// after the page, only where a chart is; colours come from the tokens, and are read again when the theme changes.
(() => {
  const PLOTLY = document.currentScript.dataset.plotly;
  const LAYOUT = { autosize: true, dragmode: false, paper_bgcolor: "transparent", plot_bgcolor: "transparent", hovermode: "closest" };
  const CONFIG = { displayModeBar: false, displaylogo: false, responsive: true, showTips: false };
  const narrow = () => matchMedia("(max-width: 44rem)").matches;

  const probe = document.createElement("i");
  const token = (name) => {
    probe.hidden = true;
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    const colour = getComputedStyle(probe).color;
    probe.remove();
    return colour;
  };
  const font = (colour = "ink-2") => ({ family: getComputedStyle(document.body).fontFamily, size: 12, color: token(colour) });
  const axis = (more) => ({ fixedrange: true, gridcolor: token("line"), linecolor: token("line-2"), zeroline: false, tickfont: font("ink-3"), automargin: true, ...more });
  const title = (text) => ({ text, font: font("ink-3"), standoff: 8 });
  const hover = () => ({ bgcolor: token("raised"), bordercolor: token("line-2"), font: font("ink"), align: "left" });
  const number = (cell) => Number(cell.dataset.value);
  const heads = (table) => [...table.tHead.rows[0].cells].filter((cell) => cell.hasAttribute("data-series")).map((cell) => cell.dataset.series);
  const rows = (table) => [...table.tBodies[0].rows].filter((row) => row.querySelector("td[data-value]"));
  const values = (row) => [...row.querySelectorAll("td[data-value]")];

  // Parts of a sum, stacked: one bar a column of the table, one colour a row.
  const parts = (table) => {
    const bars = heads(table).reverse();
    const data = rows(table).map((row, i) => {
      const cells = values(row).reverse();
      return {
        type: "bar", orientation: "h", name: row.cells[0].dataset.name, y: bars, x: cells.map(number), text: cells.map((cell) => cell.textContent.trim()),
        textposition: "none", hovertemplate: `${row.cells[0].dataset.name}: %{text}<extra></extra>`,
        marker: { color: token(`part-${(i % 7) + 1}`), line: { color: token("sheet"), width: 1 } },
      };
    });
    const layout = {
      barmode: "stack", bargap: 0.36, height: 96 + 46 * bars.length + (narrow() ? 96 : 24), margin: { l: 8, r: 8, t: 4, b: 8 },
      xaxis: axis({ title: title(table.dataset.x), tickformat: ",~r", nticks: narrow() ? 4 : 8, rangemode: "tozero" }),
      yaxis: axis({ gridcolor: "transparent", ticklabelstandoff: 8, tickfont: font("ink") }),
      legend: { orientation: "h", traceorder: "normal", font: font(), y: -0.5, yanchor: "top", x: 0 },
    };
    return [data, layout];
  };

  // A share over an interval: the expected line, what the rates leave open around it, the best and the chosen place.
  const curve = (table) => {
    const all = rows(table), x = all.map((row) => number(row.cells[0])), line = (i) => all.map((row) => number(values(row)[i]));
    const [low, expected, high] = heads(table), said = (i) => `${[low, expected, high][i]}: %{y:.2%}<extra></extra>`;
    const data = [
      { x, y: line(0), name: low, mode: "lines", line: { width: 1, color: token("part-5"), shape: "spline" }, hovertemplate: said(0) },
      { x, y: line(2), name: high, mode: "lines", line: { width: 1, color: token("part-5"), shape: "spline" }, fill: "tonexty", fillcolor: token("accent-wash"), hovertemplate: said(2) },
      { x, y: line(1), name: expected, mode: "lines", line: { width: 2.4, color: token("accent"), shape: "spline" }, hovertemplate: said(1) },
    ];
    const marks = ["best", "chosen"].filter((kind) => table.dataset[kind]).map((kind) => table.dataset[kind].split("|"));
    const shapes = marks.map(([at], i) => ({ type: "line", x0: at, x1: at, y0: 0, y1: 1, yref: "paper", line: { color: token(i ? "ink-3" : "accent"), width: 1, dash: i ? "dot" : "solid" } }));
    const apart = marks.length < 2 || Math.abs(Math.log(marks[0][0] / marks[1][0])) > (narrow() ? 1.5 : 0.6); // as wide as a label
    const annotations = marks.map(([at, , text], i) => ({
      x: Math.log10(at), y: 1, yref: "paper", yanchor: "bottom", yshift: apart || !i ? 2 : 20, showarrow: false, text,
      xanchor: at < 12 ? "left" : at > 240 ? "right" : "center", font: font(i ? "ink-2" : "accent"),
    }));
    data.push({ x: marks.map(([at]) => at), y: marks.map(([, share]) => share), mode: "markers", hoverinfo: "skip", showlegend: false,
      marker: { size: 9, symbol: ["circle", "diamond-open"], color: [token("accent"), token("ink")], line: { width: 2, color: [token("sheet"), token("ink")] } } });
    const layout = {
      height: narrow() ? 320 : 300, margin: { l: 8, r: 12, t: 44, b: 8 }, shapes, annotations, hovermode: "x unified",
      xaxis: axis({ type: "log", title: title(table.dataset.x), tickvals: [5, 10, 15, 30, 60, 120, 240, 480], ticktext: ["5", "10", "15", "30", "60", "120", "240", "480"], hoverformat: ",~r" }),
      yaxis: axis({ tickformat: ".1~%", nticks: 6 }),
      legend: { orientation: "h", font: font(), y: -0.28, yanchor: "top", x: 0 },
    };
    return [data, layout];
  };

  const KINDS = { parts, curve };
  const draw = (figure) => {
    const table = document.getElementById(figure.dataset.table), holder = figure.querySelector(".drawn");
    if (!table || !holder) return;
    const [data, layout] = KINDS[figure.dataset.chart](table);
    figure.classList.add("is-drawn");
    Plotly.react(holder, data, { ...LAYOUT, hoverlabel: hover(), font: font(), ...layout }, CONFIG);
  };
  const figures = () => [...document.querySelectorAll("figure[data-chart]")];

  let fetching = null;
  const fetched = () => {
    fetching ??= new Promise((done, failed) => {
      const script = document.createElement("script");
      Object.assign(script, { src: PLOTLY, onload: done, onerror: failed });
      document.head.append(script);
    });
    return fetching;
  };
  // Where it cannot be fetched the tables stand alone: they hold everything.
  const drawAll = () => { if (figures().length) fetched().then(() => figures().forEach(draw), () => { fetching = null; }); };

  addEventListener("load", drawAll);
  addEventListener("live:swapped", () => { if (document.readyState === "complete") drawAll(); });
  new MutationObserver(drawAll).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  matchMedia("(max-width: 44rem)").addEventListener("change", drawAll);
})();
