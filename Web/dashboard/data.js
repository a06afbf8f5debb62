// The screen Data: classes, rows as they change, one object.
import { address } from "./app.js";
import { ago, button, count, empty, field, h, put, renew, show, toast } from "./dom.js";
import { keyOf, liveGrid, textOf } from "./grid.js";
import { queryBox, targetOf } from "./querybox.js";

const nameOf = (row) => show(row["@key"] ?? row["@id"].slice(-8), 40), named = (row) => (row["@key"] === undefined ? { "@id": row["@id"] } : { key: row["@key"] });

export function data({ db, main, parameters, signal, go, database }) {
	let live, shown, selected, columns, listed, changedAt;
	const lives = [], classes = h("ul.classes"), activity = h("ol.activity"), inspector = h("aside.inspector", { label: "Object" }), facts = h(".facts"), nothing = h("div");
	const grid = liveGrid({ edit, open: inspect, follow }), declaredAs = (name) => db.session.schema?.classes.find((each) => each.name === name);
	const propertiesOf = (name) => declaredAs(name)?.properties ?? [];
	const box = queryBox(parameters.get("q") ?? "", db, (q) => (q === parameters.get("q") ? begin(q) : go("data", { q })));
	main.append(h("aside.side", { label: "Classes" }, h("h1", "Classes"), classes), h("section.work", { label: `Data of ${database}` }, box.element, facts, grid.element, nothing), inspector);
	const clock = setInterval(showFacts, 1000);
	signal.onabort = () => { clearInterval(clock); [live, ...lives].forEach((each) => each?.stop()); };

	function listClasses() {
		const names = db.session.schema?.classes.map((each) => each.name) ?? [];
		if (listed === String(names)) return;
		listed = String(names);
		lives.splice(0).forEach((each) => each.stop());
		put(classes, names.map((name, index) => {
			const total = h("span.number");
			if (index < 40) follow(name, total);
			return h("li", h("a", { href: address("data", { q: `${name} LIMIT(200) TOTAL` }), "aria-current": String(name === shown) }, h("span.name", { dir: "auto" }, name), total));
		}));
		async function follow(name, target) {
			const each = db.live(`${name} LIMIT(0) TOTAL`);
			lives.push(each);
			try { for await (const { total } of each) target.textContent = count(total); } catch (error) { target.title = error.message; }
		}
	}

	async function begin(q) {
		live?.stop();
		box.clear();
		if (!q) return nothing.append(empty("Choose a class, or write a query: the results stay current."));
		const mine = live = db.live(q);
		let isFirst = true;
		try {
			for await (const change of mine) {
				const { rows, changes, state, at } = change, name = rows[0]?.["@class"] ?? /^\w+/.exec(q)?.[0];
				const all = rows[0] && !rows[0]["@class"] ? Object.keys(rows[0]).filter((each) => !/^@(key|sort)/.test(each)).map((name) => ({ name, type: "" })) : propertiesOf(name).filter((each) => !rows.length || rows.some((row) => each.name in row));
				grid.update(rows, isFirst ? [] : changes);
				if (columns !== (columns = String(all.map((each) => each.name)))) grid.setColumns(all);
				if (shown !== (shown = name)) listed = "";
				if (!isFirst) note(change);
				if (changes.length) changedAt = at ?? new Date();
				isFirst &&= state !== "complete";
				put(nothing, !isFirst && !rows.length && empty("No rows. What comes to match appears by itself."));
				const own = selected && changes.find(({ old, row }) => keyOf(row ?? old) === keyOf(selected));
				if (own && !inspector.querySelector("form")) inspect(own.row ?? selected, own.reason);
				showFacts();
			}
		} catch (error) {
			if (mine !== live) return;
			grid.update([], []);
			live = undefined;
			put(facts);
			box.fail(error);
		}
	}

	const who = (authors) => authors.map(({ user, own }) => (own ? "you" : user ?? "anonymous")).join(", ");

	function showFacts() {
		listClasses();
		if (!live) return;
		const { rows, total, v, authors, state } = live, parts = [`${count(rows.length)}${total === null ? "" : ` of ${count(total)}`} rows`, `version ${count(v)}`, changedAt && `changed ${ago(changedAt)} ${authors.length ? `by ${who(authors)}` : ""}`];
		if (facts.shown === (facts.shown = state + parts)) return;
		renew(facts, h("output.state", { "data-state": state }, state === "complete" ? "live" : state), parts.map((part) => part && h("span", part)),
			total > rows.length && button("Show more", () => go("data", { q: parameters.get("q").replace(/LIMIT\((\d+)\)/i, (_, limit) => `LIMIT(${limit * 4})`) }), "quiet"), declaredAs(shown) && button("New object", create, "quiet"));
	}

	function note({ changes, authors, v }) {
		for (const { old, row, reason } of changes.slice(-12)) {
			const names = old && row ? Object.keys(row).filter((name) => !/^@(sort|pending)/.test(name) && show(row[name]) !== show(old[name])) : [];
			if (old && row && !names.length) continue;
			activity.prepend(h("li", h("span.name", { dir: "auto" }, nameOf(row ?? old)), !old ? h("b.good", "came") : !row ? h("b.bad", `left: ${reason}`)
				: names.slice(0, 3).map((name) => h("span", `${name}: `, h("s", show(old[name], 24)), ` → ${show(row[name], 24)}`)), h("small", `${who(authors)} · version ${v}`)));
		}
		while (activity.children.length > 40) activity.lastChild.remove();
	}

	async function write(operation, words) {
		const start = performance.now();
		try {
			const { v } = await db.write(operation);
			toast(`${words}: on disk as version ${v}, after ${Math.round(performance.now() - start)} ms.`, "good");
		} catch (error) { toast(`${words}: refused, and reverted. ${error.message}`, "bad"); }
	}

	function edit(row, property, text) {
		const value = valueOf(text, property);
		if (value === undefined) return toast(`“${show(text, 40)}” is no ${property.type}.`, "bad");
		write({ op: "update", class: row["@class"], ...named(row), set: { [property.name]: value } }, `${property.name} of ${nameOf(row)}`);
	}

	function follow(property, value) {
		const name = targetOf(property), key = declaredAs(name)?.key, isNumber = propertiesOf(name).some((each) => each.name === key && each.type === "int");
		go("data", { q: key ? `${name} WHERE ${key} == ${typeof value === "string" && !isNumber ? `'${value.replace(/[\\']/g, "\\$&")}'` : value}` : `OBJECT(${value})` });
	}

	function inspect(row, reason) {
		selected = row;
		if (!row?.["@class"]) return renew(inspector, h("h2", "Changes"), activity, h("p.hint", "None yet."));
		const removal = button("Delete", () => {
			if (removal.textContent === "Delete") return removal.textContent = "Really delete?";
			write({ op: "delete", class: row["@class"], ...named(row) }, `Deletion of ${nameOf(row)}`);
			inspect();
		}, "bad");
		renew(inspector, h(".actions", h("h2", { dir: "auto" }, nameOf(row)), button("Close", () => inspect(), "quiet")), h("p.hint", `${row["@class"]} ${row["@id"]}`), reason && h("p.bad", `It has left the results: ${reason}`),
			h("dl.object", propertiesOf(row["@class"]).filter(({ name }) => name in row).slice(0, 500).map((property) => [h("dt", `${property.name} `, h("small", property.type)), h("dd", { dir: "auto" }, valueNode(row, property))])), removal);
	}

	function valueNode(row, property) {
		const value = row[property.name];
		if (targetOf(property) && value !== null) return [value].flat().slice(0, 50).map((each) => button(show(each, 40), () => follow(property, each), "chip"));
		return h("button.value", { type: "button", title: `Edit ${property.name}`, onclick({ currentTarget }) {
			ask(currentTarget, property.name, textOf(value), row, (text) => edit(row, property, text));
		} }, show(value, 4000) || " ");
	}

	function ask(node, label, value, row, done) {
		const area = h("textarea", { rows: 8, value });
		const leave = () => { inspect(row); ([...inspector.querySelectorAll(".value")].find(({ title }) => title === `Edit ${label}`) ?? main.querySelector(".grid")).focus(); };
		node.replaceWith(h("form.stack", { onsubmit(event) { event.preventDefault(); done(area.value); leave(); } }, field(label, area), h(".actions", button("Cancel", leave, "quiet"), h("button.primary", "Write"))));
		area.focus();
	}

	function create() {
		const names = propertiesOf(shown).filter((each) => !each.optional).map(({ name }) => `  "${name}": `), place = h("div");
		put(inspector, place);
		ask(place, `A new ${shown}, as JSON`, `{\n${names.join(",\n")}\n}`, undefined, (text) => write({ op: "insert", class: shown, set: JSON.parse(text) }, `New ${shown}`));
	}

	inspect();
	begin(parameters.get("q"));
}

/** What a text means as a value, if anything. */
function valueOf(text, { type, optional }) {
	const plain = type.replace("?", "");
	if (text === null || (!text && optional && plain !== "string")) return null;
	if (plain === "int") return /^-?\d+$/.test(text) ? (Number.isSafeInteger(+text) ? +text : text) : undefined;
	if (/^(string|date|data|uuid|decimal|objectId|link)/i.test(plain) && !/^Links/.test(plain)) return text;
	try { return JSON.parse(text); } catch { return undefined; }
}
