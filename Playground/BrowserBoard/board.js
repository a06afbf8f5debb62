// A departure board in a browser, of the flights of `make demo`: one live query for the flights, one for the names of
// airlines, and a write. Beside this folder:
//
//   sluice serve --data=./data --listen=127.0.0.1:9080 --dev --allow-origin=http://127.0.0.1:8000
//   sluice import ws://127.0.0.1:9080/nyc Airline ../DepartureBoard/Data/airlines.csv --key=carrier
//   sluice import ws://127.0.0.1:9080/nyc Flight ../DepartureBoard/Data/flights.csv --link=carrier:Airline
//   python3 -m http.server 8000 --bind 127.0.0.1
//
// and open http://127.0.0.1:8000/?server=127.0.0.1:9080 in two windows.
const server = new URLSearchParams(location.search).get("server") ?? "127.0.0.1:9080";
const { Sluice } = await import(`http://${server}/_/sluice.js`);
const db = new Sluice(`ws://${server}/nyc`, { storage: localStorage });
const element = (id) => document.getElementById(id), names = new Map();
let board;

db.onstate = () => { element("state").textContent = db.state === "open" ? "live" : db.state; };
db.onrejected = (error) => { element("state").textContent = error.message; };

const clock = (time) => new Date(time).toLocaleTimeString("en-GB", { timeZone: "America/New_York", hour: "2-digit", minute: "2-digit" });

function line(flight) {
	const row = document.createElement("tr"), late = flight.delay ?? 0;
	const remark = flight.delay === null ? "cancelled" : late > 0 ? `${late} min late` : "on time";
	for (const text of [clock(flight.scheduled), `${flight.carrier} ${flight.number}`, names.get(flight.carrier) ?? "", flight.destination, remark]) row.append(Object.assign(document.createElement("td"), { textContent: text }));
	row.classList.toggle("late", late > 0);
	row.classList.toggle("pending", !!flight["@pending"]);
	row.tabIndex = 0;
	row.onclick = () => db.write({ op: "update", class: "Flight", "@id": flight["@id"], set: { delay: late + 15 } }).catch(() => {});
	row.onkeydown = ({ key }) => { if (key === "Enter") row.onclick(); };
	return row;
}

async function show(origin) {
	board?.stop();
	const mine = board = db.live("Flight WHERE origin == $0 SORT(scheduled ASC, number ASC) LIMIT(20)", { args: [origin] });
	for await (const { rows } of mine) element("flights").replaceChildren(...rows.map(line));
}

async function learnNames() {
	for await (const { rows } of db.live("Airline")) {
		for (const { carrier, name } of rows) names.set(carrier, name);
		element("flights").replaceChildren(...(board?.rows ?? []).map(line));
	}
}

element("origin").onchange = ({ target }) => show(target.value);
show("JFK");
learnNames();
