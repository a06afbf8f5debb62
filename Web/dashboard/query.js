// The screen Query: what a query costs, as a picture.
import { address } from "./app.js";
import { button, field, h, heading, put, svg, table, toast } from "./dom.js";
import { queryBox } from "./querybox.js";

// How a change finds the live view, the cheapest first.
const methods = { equality: "one look-up by value", list: "look-ups by a list", prefix: "look-ups by prefix", part: "look-ups by a part", range: "a search in ranges", link: "along a link", computed: "a computed value", alternatives: "several ways", scan: "every change is judged" };
const effects = ["evaluatesPredicate", "movesInWindow", "findsRoots", "walksLinks", "sendsValue", "computesFigure"];

export function query({ db, main, parameters, database, go }) {
	const user = h("input", { value: parameters.get("as") ?? "", placeholder: "yourself" }), result = h(".stack");
	const box = queryBox(parameters.get("q") ?? "", db, (q) => (q === parameters.get("q") && user.value === (parameters.get("as") ?? "") ? explain(q) : go("query", { q, as: user.value })));
	main.append(heading("Query", field("As user", user)), box.element, result);
	if (box.input.value) explain(box.input.value);

	async function explain(q) {
		box.clear();
		try {
			const report = await (user.value ? db.ask("explainAs", { user: user.value, query: q }) : db.ask("explain", q));
			put(result, picture(report), take(report.query));
		} catch (error) { box.fail(error); }
	}

	function picture({ query, plan, totalPlan, view, writes, wantedIndexes = [], wantedIndexRemark }) {
		const names = Object.keys(methods), at = names.indexOf(view.method), plans = [plan, totalPlan].filter(Boolean), steps = [...(plan?.steps ?? [query.startsWith("OBJECT(") ? "the object by its id" : "no object is read"]), ...(totalPlan?.steps ?? []).map((step) => `${step.trim()}, to count`)], indexes = [...new Map(plans.flatMap((plan) => plan.indexes).map((index) => [index.name, index])).values()], scans = Math.min(2, steps.filter((step) => /SCAN/.test(step)).length), list = (title, all) => all.map((each) => h("li", `${title}${each.className}(${each.properties.join(", ")})`));
		return [h("code", query), h(".cards",
			card("To begin", scans ? "reads a whole class" : "by index", scans, scale(scans, 3), h("ol", steps.map((step) => h("li", step.trim())))),
			card("To follow", methods[view.method] ?? view.method, at > 6, scale(at, names.length), view.condition && h("p", "Filed under ", h("code", view.condition)), view.windowCapacity && h("p", `A window of at most ${view.windowCapacity} rows in memory`), (view.counts || view.computes) && h("p", `It computes ${view.computes?.join(", ") ?? "the TOTAL"}`)),
			card("Indexes", wantedIndexRemark ? "one would help" : indexes.length ? "used" : "none needed", wantedIndexRemark, h("ul", list("", indexes), list("wanted: ", wantedIndexes)), wantedIndexRemark && h("p.hint", wantedIndexRemark))),
		h("h2", "What a write costs"), table("Writes", [["Property", (row) => h("code", `${row.className}.${row.property}`)], ...effects.map((name) => [name.replace(/[A-Z]/g, " $&").toLowerCase(), (row) => row.effects.includes(name) && h("b.link", "●")])], writes.slice(0, 200)),
		h("details", h("summary", "SQL"), h("pre", plans.map((plan) => plan.sql).join("\n\n")))];
	}

	function take(q) {
		const quoted = JSON.stringify(q), texts = { text: q, Swift: `for try await change in store.records(${quoted}).changes {\n    print(change.results.count)\n}`, curl: `curl -G ${location.origin}/${database}/query --data-urlencode 'q=${q.replaceAll("'", "'\\''")}'` };
		return [h("h2", "Take it away"), h(".actions", Object.entries(texts).map(([name, text]) => button(`Copy as ${name}`, async () => { await navigator.clipboard.writeText(text); toast(`Copied as ${name}.`, "good"); })), h("a", { href: address("data", { q }) }, "Look at its rows"))];
	}
}

const card = (title, value, isCostly, ...content) => h("section.card", h("h2", title), h(`p.big.${isCostly ? "warn" : "good"}`, value), content);

const scale = (at, count) => svg("svg", { viewBox: "-10 -12 280 34", class: "scale", role: "img", label: `${at + 1} of ${count} from cheap to costly` }, svg("line", { x2: 260 }),
	Array.from({ length: count }, (_, index) => svg("circle", { cx: (index * 260) / (count - 1), r: index === at ? 7 : 2.5, class: index === at && "here" })), svg("text", { y: 20 }, "cheap"), svg("text", { x: 260, y: 20, "text-anchor": "end" }, "costly"));
