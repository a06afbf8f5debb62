import SluiceModel
import Testing

/// The rules of merging lists as a table. Each line is tried in every order in which the transactions can arrive.
struct ListRulesTests {
    static let lines = [
        "start a b; A at 1: insert x after a; B at 2: insert y after a; expected a x y b",
        "start a b; A at 2: insert x after a; B at 1: insert y after a; expected a y x b",
        "start a b; A at 1: insert x after b; B at 2: insert y after b; expected a b x y",
        "start a b; A at 1: insert x first; B at 2: insert y first; expected x y a b",
        "start; A at 1: insert x first; B at 2: insert y first; expected x y",
        "start a b c; A at 1: insert x after a; B at 2: insert y after b; expected a x b y c",
        // What one inserts in a row stays together.
        "start a b; A at 1: insert x after a; A at 3: insert y after x; B at 2: insert z after a; expected a x y z b",
        "start a b; A at 2: insert x first; A at 4: insert y first; B at 3: insert z first; expected y x z a b",
        "start a b; A at 1: insert x after a; B at 2: erase a; expected x b",
        "start a b; A at 1: erase a; B at 2: insert x after a; expected x b",
        "start a b; A at 1: insert x after a; B at 2: move a after b; expected x b a",
        "start a b; A at 1: move a after b; B at 2: insert x after a; expected x b a",
        "start a b; A at 1: insert x after a; B at 2: set a=z; expected z x b",
        "start a b; A at 1: set a=z; B at 2: insert x after a; expected z x b",
        "start a b; A at 1: erase a; B at 2: erase a; expected b",
        "start a b; A at 1: erase a; B at 2: erase b; expected",
        "start a b; A at 1: erase a; B at 2: move a after b; expected b",
        "start a b; A at 1: move a after b; B at 2: erase a; expected b",
        "start a b; A at 1: erase a; B at 2: set a=z; expected b",
        "start a b; A at 1: set a=z; B at 2: erase a; expected b",
        "start a b c; A at 1: move a after b; B at 2: move a after c; expected b c a",
        "start a b c; A at 2: move a after b; B at 1: move a after c; expected b a c",
        "start a b c; A at 1: move a after c; B at 2: move b after c; expected c a b",
        "start a b c; A at 2: move a after c; B at 1: move b after c; expected c b a",
        "start a b c; A at 1: move a after c; B at 2: set a=z; expected b c z",
        "start a b c; A at 1: set a=z; B at 2: move a after c; expected b c z",
        "start a b; A at 1: set a=x; B at 2: set a=y; expected y b",
        "start a b; A at 1: set a=x; B at 2: set b=y; expected x y",
        // Clearing, and a whole value, beat edits of others whatever the times.
        "start a b; A at 1: clear; B at 2: clear; expected",
        "start a b; A at 1: clear; B at 2: insert x after a; expected",
        "start a b; A at 1: insert x after a; B at 2: clear; expected",
        "start a b; A at 1: clear; B at 2: erase a; expected",
        "start a b; A at 1: erase a; B at 2: clear; expected",
        "start a b; A at 1: clear; B at 2: move a after b; expected",
        "start a b; A at 1: move a after b; B at 2: clear; expected",
        "start a b; A at 1: clear; B at 2: set a=x; expected",
        "start a b; A at 1: set a=x; B at 2: clear; expected",
        "start a b; A at 1: clear; B at 2: all x y; expected x y",
        "start a b; A at 1: all x y; B at 2: clear; expected",
        "start a b; A at 1: all x; B at 2: all y; expected y",
        "start a b; A at 1: all x; B at 2: insert y after a; expected x",
        "start a b; A at 1: insert y after a; B at 2: all x; expected x",
        "start a b; A at 1: all x; B at 2: erase a; expected x",
        "start a b; A at 1: erase a; B at 2: all x; expected x",
        "start a b; A at 1: all x; B at 2: move a after b; expected x",
        "start a b; A at 1: move a after b; B at 2: all x; expected x",
        "start a b; A at 1: all x; B at 2: set a=y; expected x",
        "start a b; A at 1: set a=y; B at 2: all x; expected x",
        // What is inserted after the later clearing stays.
        "start a; A at 1: clear; A at 3: insert x first; B at 2: clear; B at 4: insert y first; expected y",
        "start a; A at 3: clear; A at 4: insert x first; B at 1: clear; B at 2: insert y first; expected x",
        "start a b; A at 1: insert x after a; B at 2: insert y after a; C at 3: erase b; expected a x y",
    ]

    private struct Scenario {
        let start: [Value]
        let uploads: [ListServer.Upload]
        let expected: [Value]
        let kinds: [String]

        init(_ line: String) throws {
            var (start, expected): ([Value], [Value]) = ([], [])
            var people: [UInt64: ListPerson] = [:]
            var uploads: [ListServer.Upload] = []
            var kinds: [(time: Int64, kind: String)] = []
            for part in line.split(separator: ";") {
                let words = part.split(separator: " ")
                let values = words.dropFirst().map { Value.string(String($0)) }
                switch words[0] {
                case "start": start = values
                case "expected": expected = values
                default:
                    let client = try #require(["A": 1, "B": 2, "C": 3][words[0]] as UInt64?)
                    let time = try #require(Int64(words[2].dropLast()))
                    var person = people[client] ?? ListPerson(client: client, ElementList(start))
                    let made = try Self.change(Array(words[3...]), time, &person)
                    let change = try #require(made, "\(part)")
                    people[client] = person
                    uploads.append(.init(client: client, time: time, changes: [change]))
                    kinds.append((time, String(words[3])))
                }
            }
            (self.start, self.uploads, self.expected) = (start, uploads, expected)
            self.kinds = kinds.sorted { $0.time < $1.time }.map(\.kind)
        }

        private static func change(
            _ words: [Substring], _ time: Int64, _ person: inout ListPerson
        ) throws -> ListServer.Change? {
            func value(_ word: Substring) -> Value { .string(String(word)) }
            let values = person.list.values
            func position(without moved: Value?) throws -> Int {
                guard words[2] == "after" else { return 0 }
                return try #require(values.filter { $0 != moved }.firstIndex(of: value(words[3]))) + 1
            }
            switch words[0] {
            case "clear": return person.assign([])
            case "all": return person.assign(words.dropFirst().map { value($0) })
            case "insert": return person.insert(value(words[1]), at: try position(without: nil), at: time)
            case "move":
                return person.move(value(words[1]), to: try position(without: value(words[1])), at: time)
            case "erase": return person.change(to: values.filter { $0 != value(words[1]) }, at: time)
            case "set":
                let halves = words[1].split(separator: "=")
                return person.change(
                    to: values.map { $0 == value(halves[0]) ? value(halves[1]) : $0 }, at: time)
            default: return nil
            }
        }
    }

    @Test(arguments: lines)
    func changesThatDoNotKnowOfEachOtherHaveOneOutcomeInEveryOrder(_ line: String) throws {
        let scenario = try Scenario(line)
        for order in deliveries(of: scenario.uploads) {
            var server = ListServer(scenario.start)
            for upload in order { server.accept(upload) }
            #expect(server.list.values == scenario.expected)
        }
    }

    @Test func theTableHasALineForEveryPairOfOperations() throws {
        let kinds = ["all", "clear", "insert", "erase", "move", "set"]
        let pairs = Set(try Self.lines.map { try Scenario($0).kinds }.filter { $0.count == 2 })
        for first in kinds {
            for second in kinds {
                #expect(pairs.contains([first, second]), "\(first) and later \(second)")
            }
        }
    }
}
