import SluiceJSON
import Testing

@testable import SluiceCLI

struct TopTests {
    private func report(_ database: String, _ queries: String...) throws -> JSONValue {
        try JSONParser.parse(
            #"{"database":"\#(database)","version":9,"views":1234,"queries":[\#(queries.joined(separator: ","))]}"#)
    }

    private func query(_ hash: String, found: Int, time: Int, rows: String = "5") -> String {
        #"{"query":"Q \#(hash)","hash":"\#(hash)","rows":\#(rows),"subscribers":2,"bootstrapping":0,"found":\#(found),"#
            + #""changed":1,"sentBytes":\#(found * 10),"sentPages":1,"applyingMicroseconds":\#(time),"bootstraps":1,"#
            + #""bootstrapMicroseconds":1500}"#
    }

    @Test func whatWasAddedIsOrderedByTimeAndAViewThatIsNewCountsFromItsBeginning() throws {
        let first = try TopSample([report("a", query("1", found: 100, time: 9_000), query("2", found: 5, time: 50))])
        let second = try TopSample([
            report("a", query("1", found: 101, time: 9_001), query("2", found: 25, time: 2_050)),
            report("b", query("1", found: 7, time: 70)),
        ])
        let added = second.since(first)
        #expect(added.costs.map(\.id) == ["a/2", "b/1", "a/1"])
        #expect(added.costs.map(\.foundCount) == [20, 7, 1])
        #expect(added.costs.map(\.applyingTime) == [2_000, 70, 1])
        // The view of a query that nobody observed for a while is another one.
        let again = try TopSample([report("a", query("1", found: 3, time: 30))])
        #expect(again.since(first).costs[0].foundCount == 3)
    }

    @Test func theTableShowsNumbersByTheSecond() throws {
        let sample = try TopSample([report("nyc", query("1", found: 40, time: 3_000, rows: "null"))])
        let lines = TopTable(width: nil).lines(sample, seconds: 2)
        #expect(lines[0].split(separator: " ").contains("found/s"))
        let cells = lines[2].split(separator: " ").map(String.init)
        #expect(cells == ["nyc", "2", "?", "20", "1", "200", "1.5", "0.5", "1.5", "Q", "1"])
        #expect(lines.last == "1 of 1,234 live queries, the costliest first")
    }

    @Test func aReportOfSomethingElseIsRefused() throws {
        #expect(throws: CommandError.self) { try TopSample([.object([])]) }
        #expect(throws: CommandError.self) { try TopSample([.null]) }
    }

    @Test func linesNameTheirDatabase() throws {
        let lines = TopCommand.jsonLines([try report("a", query("1", found: 1, time: 1))])
        #expect(lines.count == 1 && lines[0].hasPrefix(#"{"database":"a","query":"Q 1""#))
    }

    @Test(arguments: [([], "one of them"), (["ws://h:1/d", "--data=x"], "one of them")])
    func oneSourceIsNamed(words: [String], message: String) throws {
        let parsed = try ArgumentParser(TopCommand.description).parse(words)
        let error = #expect(throws: CommandError.self) { try TopCommand(parsed) }
        #expect(error?.message.contains(message) == true)
    }
}
