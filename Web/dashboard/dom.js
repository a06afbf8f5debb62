// Elements without markup: texts become text nodes, so no value is read as HTML.

/** An element: `h("p.hint", { title }, "text", node)`. `on…` are listeners. */
export function h(tag, ...parts) {
	const [name, ...classes] = tag.split("."), element = document.createElement(name || "div");
	element.className = classes.join(" ");
	return fill(element, parts);
}

export const svg = (name, ...parts) => fill(document.createElementNS("http://www.w3.org/2000/svg", name), parts);

export const put = (element, ...parts) => fill(element, parts, element.replaceChildren());

let isPressed = false;
["pointerdown", "pointerup", "pointercancel"].forEach((name, index) => addEventListener(name, () => { isPressed = !index; }, true));
const wordsOf = (node) => node.getAttribute("href") ?? node.getAttribute("aria-label") ?? (node.title || node.textContent);

/** Replaces what an element has, but for a moment in which it is pressed; the focus and how far its tables are scrolled stay. */
export function renew(element, ...parts) {
	const focused = document.activeElement;
	if (isPressed && element.contains(focused)) return;
	const isIn = element !== focused && element.contains(focused), scrolled = [...element.querySelectorAll(".scroll")].map(({ scrollLeft, scrollTop }) => [scrollLeft, scrollTop]);
	put(element, ...parts);
	element.querySelectorAll(".scroll").forEach((each, index) => each.scrollTo(...scrolled[index] ?? [0, 0]));
	if (isIn) [...element.querySelectorAll("a, button, [tabindex]")].find((each) => wordsOf(each) === wordsOf(focused))?.focus({ preventScroll: true });
}

function fill(element, parts) {
	for (const part of parts.flat(9)) {
		if (part?.constructor !== Object) part === undefined || part === null || part === false || element.append(part);
		else for (const [name, value] of Object.entries(part)) {
			if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
			else if (["value", "disabled", "hidden", "selected"].includes(name)) element[name] = value;
			else if (value !== undefined && value !== null && value !== false) element.setAttribute(name === "label" ? "aria-label" : name, value === true ? "" : value);
		}
	}
	return element;
}

export const button = (label, onclick, kind = "", props = {}) => h(`button.${kind}`, { type: "button", onclick, ...props }, label);
export const field = (label, control) => h("label.field", h("span", label), control);
export const heading = (title, ...actions) => h(".heading", h("h1", title), actions);
export const empty = (text) => h(".empty", text);

/** Columns: `[title, value of a row, class]` */
export const plain = (title, name = title.toLowerCase()) => [title, (row) => row[name]];
export const figure = (title, name, words = count) => [title, (row) => words(row[name]), "right"];

export const table = (label, columns, rows) => h(".scroll", { tabindex: 0, role: "region", label }, h("table",
	h("thead", h("tr", columns.map(([title, , kind = ""]) => h(`th.${kind}`, { scope: "col" }, title)))),
	h("tbody", rows.map((row) => h("tr", columns.map(([, value, kind = ""]) => h(`td.${kind}`, { dir: "auto" }, value(row))))))));

/** Says something for a while, and faults until dismissed. */
export function toast(text, kind) {
	const line = h(`.toast.${kind}`, text, button("Dismiss", () => line.remove(), "quiet"));
	document.getElementById("toasts").append(line);
	if (kind === "good") setTimeout(() => line.remove(), 6000);
}

export const count = (value) => value?.toLocaleString("en-US") ?? "–";

export const bytes = (value) => value === null ? "–" : `${value.toLocaleString("en-US", { notation: "compact" })}B`;

export function ago(time) {
	const seconds = Math.max(0, (Date.now() - Date.parse(time)) / 1000);
	const [size, unit] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].find(([size]) => seconds >= size) ?? [1, "s"];
	return `${Math.floor(seconds / size)} ${unit} ago`;
}

export function show(value, most = 160) {
	const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
	return text.length > most ? text.slice(0, most) + "…" : text;
}

export async function every(seconds, signal, work) {
	while (!signal.aborted) {
		if (!document.hidden) await work();
		await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
	}
}
