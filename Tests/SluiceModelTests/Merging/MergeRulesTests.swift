import SluiceModel
import Testing

/// The rules of merging as a table. Each line is tried in every order in which the transactions can arrive.
struct MergeRulesTests {
    static let numbers = [
        "start 10; A at 1: set 1; B at 2: set 2; expected 2",
        "start 10; A at 1: add 1; B at 2: add 2; expected 13",
        "start 10; A at 1: add 1; B at 2: set 2; expected 2",
        "start 10; A at 1: set 1; B at 2: add 2; expected 3",
        "start 10; A at 1: set 1; A at 3: add 5; B at 2: set 2; expected 7",
        "start 10; A at 1: add 1; B at 2: set 2; C at 3: add 4; expected 6",
    ]

    static let sets = [
        "start {a}; A at 1: set {b}; B at 2: set {c}; expected {c}",
        "start {a}; A at 1: set {b}; B at 2: clear; expected {}",
        "start {a}; A at 1: clear; B at 2: set {b}; expected {b}",
        "start {a}; A at 1: clear; B at 2: clear; expected {}",
        "start {a}; A at 1: insert b; B at 2: insert c; expected {a b c}",
        "start {a}; A at 1: insert b; B at 2: insert b; expected {a b}",
        "start {a}; A at 1: insert b; B at 2: erase b; expected {a}",
        "start {a}; A at 1: erase b; B at 2: insert b; expected {a b}",
        "start {a b}; A at 1: erase a; B at 2: erase b; expected {}",
        "start {a b}; A at 1: erase a; B at 2: erase a; expected {b}",
        // A whole value, and clearing, beat edits of others whatever the times.
        "start {a}; A at 1: insert b; B at 2: set {c}; expected {c}",
        "start {a}; A at 1: set {c}; B at 2: insert b; expected {c}",
        "start {a}; A at 1: erase a; B at 2: set {a c}; expected {a c}",
        "start {a}; A at 1: set {a c}; B at 2: erase a; expected {a c}",
        "start {a}; A at 1: insert b; B at 2: clear; expected {}",
        "start {a}; A at 1: clear; B at 2: insert b; expected {}",
        "start {a}; A at 1: erase a; B at 2: clear; expected {}",
        "start {a}; A at 1: clear; B at 2: erase a; expected {}",
        // What is inserted after the later clearing stays.
        "start {a}; A at 1: clear; A at 3: insert x; B at 2: clear; B at 4: insert y; expected {y}",
        "start {a}; A at 3: clear; A at 4: insert x; B at 1: clear; B at 2: insert y; expected {x}",
        "start {a}; A at 1: set {b}, insert c; B at 2: insert d; expected {b c}",
        "start {a}; A at 1: insert b; B at 2: insert c; C at 3: erase a; expected {b c}",
        "start {a}; A at 1: insert b; A at 4: erase b; B at 2: erase b; C at 3: insert b; expected {a}",
    ]

    static let maps = [
        "start [k=1]; A at 1: set [k=2]; B at 2: set [k=3]; expected [k=3]",
        "start [k=1]; A at 1: set [k=2]; B at 2: clear; expected []",
        "start [k=1]; A at 1: clear; B at 2: set [k=2]; expected [k=2]",
        "start [k=1]; A at 1: clear; B at 2: clear; expected []",
        "start [k=1]; A at 1: put k=2; B at 2: put k=3; expected [k=3]",
        "start [k=1]; A at 1: put l=2; B at 2: put m=3; expected [k=1 l=2 m=3]",
        "start [k=1]; A at 1: put k=2; B at 2: erase k; expected []",
        "start [k=1]; A at 1: erase k; B at 2: put k=2; expected [k=2]",
        "start [k=1 l=2]; A at 1: erase k; B at 2: erase l; expected []",
        "start [k=1]; A at 1: put l=2; B at 2: set [m=3]; expected [m=3]",
        "start [k=1]; A at 1: set [m=3]; B at 2: put l=2; expected [m=3]",
        "start [k=1]; A at 1: erase k; B at 2: set [k=3]; expected [k=3]",
        "start [k=1]; A at 1: set [k=3]; B at 2: erase k; expected [k=3]",
        "start [k=1]; A at 1: put l=2; B at 2: clear; expected []",
        "start [k=1]; A at 1: clear; B at 2: put l=2; expected []",
        "start [k=1]; A at 1: erase k; B at 2: clear; expected []",
        "start [k=1]; A at 1: clear; B at 2: erase k; expected []",
        "start [k=1]; A at 1: put k=2, put l=2; B at 2: put k=3; expected [k=3 l=2]",
    ]

    static let objects = [
        "start 10; A at 1: delete; B at 2: set 2; expected deleted",
        "start 10; A at 1: set 1; B at 2: delete; expected deleted",
        "start 10; A at 1: delete; B at 2: delete; expected deleted",
        "start {a}; A at 1: delete; B at 2: insert b; expected deleted",
        "start {a}; A at 1: insert b; B at 2: delete; expected deleted",
        "start [k=1]; A at 1: delete; B at 2: put l=2; expected deleted",
        "start [k=1]; A at 1: put l=2; B at 2: delete; expected deleted",
        "start deleted; A at 1: create 1; B at 2: create 2; expected 2",
        "start deleted; A at 1: create {a}; B at 2: create {b}; expected {b}",
        "start deleted; A at 1: create {a}; A at 3: insert b; B at 2: create {c}; expected {c}",
        "start deleted; A at 2: create {a}; A at 3: insert b; B at 1: create {c}; expected {a b}",
        // Of a deletion and a creation the later counts, and what was written to an object that is there no more is lost.
        "start 10; A at 2: delete; A at 3: create 5; B at 1: delete; expected 5",
        "start 10; A at 2: delete, create 5; B at 1: delete; expected 5",
        "start 10; A at 1: delete, create 5; B at 2: delete; expected deleted",
        "start 10; A at 1: delete; A at 2: create 5; B at 3: set 7; expected 5",
        "start 10; A at 1: delete; A at 2: create 5; B at 3: add 7; expected 5",
        "start {a}; A at 1: delete; A at 2: create {b}; B at 3: insert c; expected {b}",
        "start 10; A at 1: delete; A at 2: create 5; A at 4: set 6; B at 3: set 7; expected 6",
        "start 10; A at 1: delete; A at 2: create 5; B at 3: create 6; B at 4: set 7; expected 7",
        "start deleted; A at 1: create 1; A at 3: delete; B at 5: create 2; expected 2",
        "start deleted; A at 1: create 1; A at 3: delete; B at 2: create 2; expected deleted",
        "start 10; A at 2: create 5; B at 3: delete; B at 4: default 0; expected 0",
        "start 10; A at 2: create 5; A at 5: set 6; B at 3: delete; B at 4: default 0; expected 0",
        "start 10; A at 3: create 5; B at 2: delete; B at 4: default 0; expected 5",
        // What one transaction deletes, creates and changes counts as in several.
        "start deleted; A at 1: create 1, delete; B at 2: create 2; expected 2",
        "start deleted; A at 2: create 1, delete; B at 1: create 2; expected deleted",
        "start 10; A at 2: delete, create 5; A at 3: set 6; B at 4: set 3; expected 6",
        "start 10; A at 2: delete, create 5; A at 3: set 6; B at 1: set 3; expected 6",
        "start 10; A at 2: delete, create 5; B at 3: add 2; expected 5",
        "start 10; A at 2: delete, create 5; A at 4: set 6; B at 3: delete, create 3; expected 3",
        "start deleted; A at 1: default 0, add 5; B at 2: default 0, add 3; expected 8",
        "start deleted; A at 1: default 0; A at 3: add 5; B at 2: default 0, add 3; expected 8",
        "start deleted; A at 1: default 1, add 1; B at 2: default 10; expected 11",
        "start deleted; A at 2: default 1, add 1; B at 1: default 10; expected 2",
        "start deleted; A at 1: create 20, add 5; B at 2: default 0, add 3; expected 28",
        "start deleted; A at 1: default {}, insert a; B at 2: default {}, insert b; expected {a b}",
        "start deleted; A at 1: default [], put k=1; B at 2: default [], put l=2; expected [k=1 l=2]",
        // A deletion leaves of what several have created what it does not undo, as if the rest had never been.
        "start deleted; A at 1: create 1; B at 3: create 2; C at 2: delete; expected 2",
        "start deleted; A at 1: create 1; A at 5: set 4; B at 3: default 0; C at 2: delete; expected 0",
        "start deleted; A at 1: create 1; A at 9: set 4; B at 3: create 2; B at 6: set 3; C at 2: delete; expected 3",
        "start deleted; A at 1: default 0, add 5; B at 3: default 0, add 3; C at 2: delete; expected 3",
        "start 10; A at 1: delete; B at 3: default 0; B at 4: add 2; expected 2",
        "start 10; A at 1: delete; B at 3: default 0; B at 4: add 2; C at 5: set 7; expected 2",
        "start 10; A at 5: delete; A at 6: create 7; B at 3: delete; C at 4: create 9; expected 7",
        "start 10; A at 1: delete; B at 5: delete; C at 3: create 9; expected deleted",
        // A default yields to whatever is written, at any time.
        "start deleted; A at 1: default 0; B at 2: create 1; expected 1",
        "start deleted; A at 1: create 1; B at 2: default 0; expected 1",
        "start deleted; A at 2: create 1; B at 1: default 0; expected 1",
        "start deleted; A at 1: default 5; B at 2: default 6; expected 6",
        "start deleted; A at 1: create 1; A at 4: delete; B at 2: default 0; B at 3: set 5; expected deleted",
        "start 10; A at 1: default 0; expected 10",
        "start 10; A at 1: set 10; B at 2: default 0; expected 10",
        "start 10; A at 2: default 0; B at 1: add 1; expected 11",
        "start {a}; A at 1: default {}; expected {a}",
        "start deleted; A at 1: default 0; A at 2: set 3; B at 3: default 0; expected 3",
        "start deleted; A at 1: default 0; A at 2: add 3; B at 3: default 0; expected 3",
        "start deleted; A at 1: create {a}; B at 2: default {}; expected {a}",
        "start deleted; A at 1: default {}, insert a; B at 2: default {}; expected {a}",
        "start deleted; A at 3: default {}; A at 4: insert a; B at 1: default {}; B at 2: insert b; expected {a b}",
    ]

    @Test(arguments: numbers + sets + maps + objects)
    func transactionsThatDoNotKnowOfEachOtherHaveOneOutcomeInEveryOrder(_ line: String) throws {
        let scenario = try MergeScenario(line)
        for outcome in try scenario.outcomes() { #expect(outcome == scenario.expected) }
    }

    /// The tables, and the words of the operations that each has a line for every pair of.
    private enum Table: CaseIterable {
        case numbers, sets, maps, objects

        var lines: [String] {
            switch self {
            case .numbers: MergeRulesTests.numbers
            case .sets: MergeRulesTests.sets
            case .maps: MergeRulesTests.maps
            case .objects: MergeRulesTests.objects
            }
        }

        /// The table's word for a kind; nil for one that its values do not take. A kind that is new does not compile
        /// before it has one, and its pairs are then missing.
        func word(for kind: OperationKind) -> String? {
            switch (self, kind) {
            case (.numbers, .set), (.sets, .set), (.maps, .set): "set"
            case (.numbers, .add): "add"
            case (.sets, .clear), (.maps, .clear): "clear"
            case (.sets, .setInsert): "insert"
            case (.sets, .setErase), (.maps, .mapErase): "erase"
            case (.maps, .mapSet): "put"
            case (.objects, .create): "create"
            case (.objects, .setDefault): "default"
            // Deletions meet the others in lines of several writers, and lists have tests of their own.
            case (_, .create), (_, .delete), (_, .set), (_, .setDefault), (_, .add), (_, .listInsert), (_, .listSet),
                (_, .listMove), (_, .listErase), (_, .setInsert), (_, .setErase), (_, .mapSet), (_, .mapErase),
                (_, .clear):
                nil
            }
        }
    }

    /// A person who adds a kind of operation finds here which lines are missing.
    @Test func theTablesHaveALineForEveryPairOfOperations() throws {
        for table in Table.allCases {
            let kinds = OperationKind.allCases.compactMap(table.word)
            #expect(kinds.count > 1)
            let pairs = Set(try table.lines.map { try MergeScenario($0).kinds }.filter { $0.count == 2 })
            for first in kinds {
                for second in kinds {
                    #expect(pairs.contains([first, second]), "\(first) and later \(second)")
                }
            }
        }
    }
}
