// A table of live rows; those in sight are in the document.
import { h, put, show } from "./dom.js";
import { targetOf } from "./querybox.js";

const height = 30, mostColumns = 60;
export const textOf = (value) => (value === null ? "" : typeof value === "string" ? value : JSON.stringify(value));
export const keyOf = (row) => JSON.stringify(row["@key"] ?? row["@id"]);

export function liveGrid({ edit, open, follow }) {
	let rows = [], columns = [], at = [0, 0], editing, frame = 0;
	const nodes = new Map(), marks = new Map(), head = h(".head", { role: "row", "aria-rowindex": 1 }), body = h(".body", { role: "rowgroup" });
	const element = h(".grid", { role: "grid", tabindex: 0, label: "Results", onkeydown: press, onscroll: later, onclick: click, ondblclick: startEditing }, head, body);
	new ResizeObserver(later).observe(element);

	function later() { frame ||= requestAnimationFrame(draw); }

	function setColumns(all) {
		columns = all.slice(0, mostColumns);
		nodes.clear();
		put(body);
		put(head, columns.map(({ name, type }) => h(".cell", { role: "columnheader", title: `${name} ${type}` }, name, h("small", ` ${type}`))),
			all.length > mostColumns && h(".cell", `${all.length - mostColumns} more`));
		at = [0, 0];
		const widths = columns.map(({ name, type }) => Math.max(name.length + type.length + 1, ...rows.slice(0, 40).map((row) => show(row[name], 40).length)) * 7.4 + 24);
		element.style.setProperty("--columns", [...widths, 150].map((width) => `${Math.min(300, Math.round(width))}px`).join(" "));
	}

	function draw() {
		frame = 0;
		body.style.height = `${rows.length * height}px`;
		const first = Math.max(0, Math.floor(element.scrollTop / height) - 6), sight = rows.slice(first, first + Math.ceil(element.clientHeight / height) + 14);
		const keys = new Set(sight.map(keyOf));
		for (const [key, node] of nodes) if (!keys.has(key) && !node.contains(editing ?? null)) nodes.delete(key, node.remove());
		sight.forEach((row, offset) => {
			const key = keyOf(row), mark = marks.get(key);
			let node = nodes.get(key);
			if (!node) {
				node = h(".row", { role: "row" }, columns.map(() => h(".cell", { role: "gridcell", dir: "auto" })));
				nodes.set(key, node);
				body.append(node);
			}
			node.style.transform = `translateY(${(first + offset) * height}px)`;
			node.setAttribute("aria-rowindex", first + offset + 2);
			if (node.row !== row || node.index !== first + offset) write(node, row, first + offset);
			if (mark) flash(mark.isNew ? [node] : columns.flatMap(({ name }, index) => (mark.names.includes(name) ? node.children[index] : [])), mark.isNew);
		});
		marks.clear();
		element.setAttribute("aria-rowcount", rows.length + 1);
		body.querySelector(".at")?.classList.remove("at");
		const cell = cellAt();
		cell?.classList.add("at");
		element.setAttribute("aria-activedescendant", cell?.id ?? "");
	}

	function write(node, row, index) {
		Object.assign(node, { row, index });
		node.classList.toggle("pending", !!row["@pending"]);
		columns.forEach((property, column) => {
			const cell = node.children[column], value = row[property.name], text = show(value);
			cell.id = `cell-${index}-${column}`;
			if (editing === cell || cell.shown === text) return;
			cell.shown = text;
			cell.className = `cell ${value === null ? "null" : ""} ${targetOf(property) ? "link" : ""}`;
			put(cell, text);
		});
	}

	function flash(targets, isNew) {
		for (const target of targets) {
			target.dataset.changed = performance.timeOrigin + performance.now();
			target.animate([{ backgroundColor: isNew ? "var(--came)" : "var(--flash)" }, {}], { duration: 2200, easing: "ease-in" });
		}
	}

	const cellAt = () => rows[at[0]] && nodes.get(keyOf(rows[at[0]]))?.children[at[1]];

	function move([down, right]) {
		const within = (value, count) => Math.max(0, Math.min(count - 1, value));
		at = [within(at[0] + down, rows.length), within(at[1] + right, columns.length)];
		const top = at[0] * height;
		if (top < element.scrollTop) element.scrollTop = top;
		if (top + 2 * height > element.scrollTop + element.clientHeight) element.scrollTop = top + 2 * height - element.clientHeight;
		head.children[at[1]]?.scrollIntoView({ block: "nearest", inline: "nearest" });
		draw();
	}

	function press(event) {
		if (editing || event.ctrlKey || event.metaKey || event.altKey) return;
		const page = Math.floor(element.clientHeight / height) - 2, row = rows[at[0]], property = columns[at[1]];
		const step = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1], PageDown: [page, 0], PageUp: [-page, 0], Home: [-1e9, 0], End: [1e9, 0] }[event.key];
		if (step) move(step);
		else if (row && (event.key === "Enter" || event.key === "F2")) startEditing();
		else if (row && event.key === "o" && targetOf(property) && row[property.name]) follow(property, row[property.name]);
		else if (row && event.key === " ") open(row);
		else return;
		event.preventDefault();
	}

	function click({ target }) {
		const cell = target.closest(".row > .cell"), node = cell?.parentElement;
		if (!cell || editing) return;
		at = [node.index, [...node.children].indexOf(cell)];
		draw();
		open(node.row);
	}

	function startEditing() {
		const cell = cellAt(), row = rows[at[0]], property = columns[at[1]];
		if (!cell || editing || !row["@class"]) return;
		const text = textOf(row[property.name]);
		const input = h("input", { value: text, label: `${property.name}, ${property.type}`, onblur: () => stop(), onkeydown(event) {
			event.stopPropagation();
			if (event.key === "Enter") stop(input.value);
			if (event.key === "Delete" && event.ctrlKey) stop(null);
			if (event.key === "Escape") stop();
		} });
		editing = cell;
		put(cell, input);
		input.select();

		function stop(written) {
			if (!editing) return;
			editing = cell.shown = undefined;
			write(cell.parentElement, cell.parentElement.row, cell.parentElement.index);
			element.focus();
			later();
			if (written !== undefined && written !== text) edit(row, property, written);
		}
	}

	function update(now, changes) {
		rows = now;
		for (const { old, row } of changes) {
			const names = row && old ? Object.keys(row).filter((name) => show(row[name], 1e6) !== show(old[name], 1e6)) : [];
			if (row && (!old || names.length)) marks.set(keyOf(row), { names, isNew: !old });
		}
		later();
	}

	return { element, setColumns, update };
}
