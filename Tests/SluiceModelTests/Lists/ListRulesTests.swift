import SluiceModel
import TestSupport
import Testing

/// The rules of merging lists as a table. Each line is tried in every order in which the transactions can arrive.
struct ListRulesTests {
    private static let lines = ListRules.lines

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

    @Test(arguments: ListRules.lines)
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
