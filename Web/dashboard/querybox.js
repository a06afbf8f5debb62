// The query line: completion, and an error under its byte.
import { h, put } from "./dom.js";

const keywords = ["WHERE", "AND", "OR", "SORT(", "LIMIT(", "TOTAL", "GROUP(", "AGGREGATE(", "DISTINCT(", "EXCLUDE(", "AFTER(", "BEFORE("], quantifiers = ["NOT", "ANY", "ALL", "NONE"];
const operators = ["==", "!=", "<", "<=", ">", ">=", "IN {", "BETWEEN {", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE"];

/** The class that a property links to. */
export const targetOf = (property) => property?.target ?? /Links?<(\w+)>/.exec(property?.type ?? "")?.[1];

export function completions(text, cursor, classes) {
	const word = /[\w.@$]*$/.exec(text.slice(0, cursor))[0], rest = text.slice(0, cursor - word.length).trimEnd(), path = word.split("."), last = path.pop(), from = cursor - last.length;
	const fit = (words) => [from, words.filter((each) => each.toLowerCase().startsWith(last.toLowerCase()) && each !== last).slice(0, 12)];
	if (rest.split("'").length % 2 === 0) return [from, []];
	if (!rest) return fit(classes.map((each) => each.name));
	const named = (name) => classes.find((each) => each.name === name);
	const declared = path.reduce((each, name) => named(targetOf(each?.properties.find((property) => property.name === name))), named(/^\s*(\w+)/.exec(text)[1]));
	const properties = declared?.properties.map((each) => each.name) ?? [];
	if (path.length || /[(,]$/.test(rest)) return fit(properties);
	if (/\b(WHERE|AND|OR|NOT|ANY|ALL|NONE)$/i.test(rest)) return fit([...properties, ...quantifiers]);
	if (/\b(WHERE|AND|OR|NOT|ANY|ALL|NONE)\s+[\w.]+$/i.test(rest)) return fit(operators);
	return fit(/SORT\([^)]*$/i.test(rest) ? ["ASC", "DESC"] : keywords);
}

export function queryBox(value, db, run) {
	let words = [], from = 0, chosen = -1;
	const list = h("ul", { id: "words", role: "listbox", hidden: true, label: "Completions" }), fault = h(".query-fault", { role: "alert" });
	const input = h("input", { value, autocomplete: "off", role: "combobox", label: "Query", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": "words",
		placeholder: "Flight WHERE delay > 60", oninput: suggest, onblur: () => offer([]), onkeydown: press, onscroll: scrolled });
	const element = h("form.ask", { role: "search", onsubmit(event) { event.preventDefault(); offer([]); run(input.value.trim()); } }, h(".line-box", input, list), h("button.primary", "Run"), fault);

	function suggest() {
		clear();
		const [start, found] = completions(input.value, input.selectionStart, db.session.schema?.classes ?? []);
		from = start;
		element.style.setProperty("--at", Math.min(from, 60));
		offer(found);
	}

	function offer(found) {
		[words, chosen, list.hidden] = [found, -1, !found.length];
		input.setAttribute("aria-expanded", !list.hidden);
		input.removeAttribute("aria-activedescendant");
		put(list, words.map((word, index) => h("li", { role: "option", id: `word-${index}`, onmousedown(event) { event.preventDefault(); take(index); } }, word)));
	}

	function choose(index) {
		chosen = (index + words.length) % words.length;
		[...list.children].forEach((item, at) => item.setAttribute("aria-selected", at === chosen));
		input.setAttribute("aria-activedescendant", `word-${chosen}`);
	}

	function take(index) {
		const head = input.value.slice(0, from) + words[index] + (/[({]$/.test(words[index]) ? "" : " ");
		input.value = head + input.value.slice(input.selectionStart).trimStart();
		input.setSelectionRange(head.length, head.length);
		suggest();
	}

	function press(event) {
		if (list.hidden ? event.key !== "ArrowDown" : !{ ArrowDown: 1, ArrowUp: 1, Escape: 1, Tab: chosen >= 0, Enter: chosen >= 0 }[event.key]) return;
		event.preventDefault();
		if (list.hidden) suggest();
		else if (event.key === "Escape") offer([]);
		else if (event.key.startsWith("Arrow")) choose(event.key === "ArrowDown" ? chosen + 1 : Math.max(chosen, 0) - 1);
		else take(chosen);
	}

	function scrolled() { element.style.setProperty("--scrolled", `${input.scrollLeft}px`); }
	function clear() {
		put(fault);
		input.removeAttribute("aria-invalid");
	}

	/** Shows an error, with a mark under its byte. */
	function fail({ message, position }) {
		input.setAttribute("aria-invalid", "true");
		if (position >= 0) element.style.setProperty("--fault", new TextDecoder().decode(new TextEncoder().encode(input.value).slice(0, position)).length);
		scrolled();
		put(fault, position >= 0 && [h("span.caret", { "aria-hidden": "true" }, "^"), `Byte ${position}: `], message);
		input.focus();
	}

	return { element, input, clear, fail };
}
