import SluiceModel
import SluiceQuery
import SluiceViews
import TestSupport
import Testing

@testable import Sluice

/// What waits for a busy consumer, beside all edits of its commits, of which none is dropped.
@Suite struct BacklogTests {
    @Test(arguments: 0..<60 as Range<UInt64>)
    func aCondensedBacklogBringsTheEventsOfAllEdits(seed: UInt64) throws {
        var world = try BacklogWorld(seed: seed)
        for cycle in 0..<12 {
            for _ in 0..<world.below(200) { world.commit(stretchCountMax: Backlog.stretchCountMax) }
            #expect(world.backlog.editCount <= world.plainEditCount)
            while let (condensed, plain) = world.next() {
                #expect(condensed == plain, "seed \(seed), cycle \(cycle)")
            }
            world.rest()
        }
    }

    /// The edits of many stretches are gathered into two, and lead to the same results.
    @Test(arguments: 0..<60 as Range<UInt64>)
    func aGatheredBacklogIsBoundedAndLeadsToTheSameResults(seed: UInt64) throws {
        var world = try BacklogWorld(seed: seed)
        for cycle in 0..<12 {
            var editCountMax = 0
            for _ in 0..<world.below(400) {
                world.commit(stretchCountMax: .max)
                editCountMax = max(editCountMax, world.backlog.editCount)
            }
            // Few edits of each of the objects, of which there are many more than are held.
            if world.hasWindow { #expect(editCountMax <= 150, "seed \(seed), cycle \(cycle)") }
            let (condensed, plain) = world.last()
            #expect(condensed == plain, "seed \(seed), cycle \(cycle)")
            world.rest()
        }
    }
}

/// Results of which an observer holds the first, and the same results of which another holds all.
private struct BacklogWorld {
    /// What an event shows.
    struct Shown: Equatable {
        var isRemote: Bool
        var change: ResultChange
        var moveCount: Int
        var objects: [ObjectRef]
        var names: [Value]
    }

    private static let (limit, capacity, heldCountMax, objectCount) = (5, 10, 13, 400)

    let hasWindow: Bool
    private let schema: Schema
    private var generator: SeededGenerator
    private let order: SortOrder
    private var matches: [ObjectRef: ResultEntry] = [:]
    private(set) var backlog = Backlog()
    private var results: ResultList
    private var held: [ObjectRef: ResultEntry] = [:]
    /// The end of the window; nil if all results are held.
    private var end: SortPosition?
    private var plain: [(isRemote: Bool, edits: [ResultEdit])] = []
    private var plainResults: ResultList

    init(seed: UInt64) throws {
        generator = SeededGenerator(seed: seed)
        hasWindow = seed % 4 != 0
        schema = try Schema([
            ClassSchema(
                "User", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("name", .scalar(.string)), Property("age", .scalar(.int)),
                ])
        ])
        order = SortOrder(try Query.parse("User SORT(age ASC)", schema: schema).sort)
        results = ResultList(schema: schema, order: order, limit: Self.limit)
        plainResults = results
    }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &generator) }

    var plainEditCount: Int { plain.reduce(0) { $0 + $1.edits.count } }

    // MARK: Commits

    /// Adds the edits of a commit.
    mutating func commit(stretchCountMax: Int) {
        let isLast = plain.count >= stretchCountMax
        let isRemote = isLast || below(5) > 0 ? plain.last?.isRemote ?? false : below(2) == 0
        let origin: ChangeOrigin = isRemote ? .remote([]) : .local
        var edits: [ResultEdit] = []
        var all: [ResultEdit] = []
        for _ in 0...below(3) { edits += edit(&all) }
        // A commit of which nothing concerns the observer begins no stretch.
        if plain.isEmpty || !edits.isEmpty && plain.last?.isRemote != isRemote { plain.append((isRemote, [])) }
        plain[plain.count - 1].edits += all
        backlog.append(edits, origin: origin)
        if end != nil, held.count < Self.limit { backlog.append(read(), origin: origin) }
        if backlog.isLong { condense() }
    }

    private mutating func edit(_ all: inout [ResultEdit]) -> [ResultEdit] {
        let object = ObjectRef(0, .int(Int64(below(Self.objectCount))))
        let some = matches.isEmpty ? nil : matches.keys.sorted()[below(matches.count)]
        switch below(6) {
        case 0, 1:
            return upsert(object, &all)
        case 2:
            return some.map { upsert($0, &all) } ?? []
        case 3:
            guard let some, held[some] != nil else { return [] }
            return both(.touch(some), &all)
        default:
            guard let some else { return [] }
            matches[some] = nil
            held[some] = nil
            return both(.remove(some, below(2) == 0 ? .deleted : .filter), &all)
        }
    }

    private mutating func both(_ edit: ResultEdit, _ all: inout [ResultEdit]) -> [ResultEdit] {
        all.append(edit)
        return [edit]
    }

    private mutating func upsert(_ object: ObjectRef, _ all: inout [ResultEdit]) -> [ResultEdit] {
        let age = Value.int(Int64(below(20)))
        let name = Value.string("\(below(2))")
        let entry = ResultEntry(
            object: object,
            position: SortPosition(values: [age], id: Identity(className: "User", key: object.key).objectID),
            row: Row(key: object.key, values: [object.key.value, name, age]))
        matches[object] = entry
        all.append(.upsert(entry))
        if let end, order.precedes(end, entry.position) {
            return held.removeValue(forKey: object) == nil ? [] : [.remove(object, .window)]
        }
        held[object] = entry
        return [.upsert(entry)]
    }

    /// Reads the first results anew.
    private mutating func read() -> [ResultEdit] {
        let first = sorted(matches).prefix(Self.capacity)
        let edits = first.filter { held[$0.object] == nil }.map { ResultEdit.upsert($0) }
        let gone = held.keys.filter { object in !first.contains { $0.object == object } }.sorted()
        end = first.count < matches.count ? first.last?.position : nil
        held = Dictionary(uniqueKeysWithValues: first.map { ($0.object, $0) })
        return edits + gone.map { .remove($0, .window) }
    }

    private mutating func condense() {
        var beyond: Set<ObjectRef> = []
        if hasWindow, held.count > Self.heldCountMax {
            let entries = sorted(held)
            beyond = Set(entries.dropFirst(Self.capacity).map(\.object))
            for object in beyond { held[object] = nil }
            end = entries[Self.capacity - 1].position
        }
        let before = Set(results.entries.map(\.object))
        backlog.condense(without: beyond) { before.contains($0) }
        let after = Dictionary(uniqueKeysWithValues: held.keys.map { ($0, true) })
        for object in Set(backlog.objects).union(before) {
            let isHeld =
                switch backlog.lastEdit(of: object) {
                case nil, .touch: before.contains(object)
                case .upsert: true
                case .remove: false
                }
            #expect(isHeld == after[object] ?? false)
        }
    }

    private func sorted(_ entries: [ObjectRef: ResultEntry]) -> [ResultEntry] {
        entries.values.sorted { order.precedes($0.position, $1.position) }
    }

    // MARK: Events

    /// What the next event shows, and what it shows where no edit was dropped; nil if nothing waits.
    mutating func next() -> (condensed: Shown, plain: Shown)? {
        guard let stretch = backlog.removeFirst() else { return nil }
        let all = plain.removeFirst()
        let isRemote = if case .remote = stretch.origin { true } else { false }
        return (
            sameReasons(Self.show(stretch.edits.all, in: &results, isRemote: isRemote)),
            sameReasons(Self.show(all.edits, in: &plainResults, isRemote: all.isRemote))
        )
    }

    /// With a window, what was deleted and comes again behind what is held was deleted for one observer, and has moved
    /// out of the window for the other, which holds all: then the reasons are left out.
    private func sameReasons(_ shown: Shown) -> Shown {
        guard hasWindow else { return shown }
        var shown = shown
        shown.change.deletions = shown.change.deletions.map { .init(index: $0.index, reason: .window) }
        return shown
    }

    /// What the results are after all that waits, and what they are where no edit was dropped.
    mutating func last() -> (condensed: [ObjectRef], plain: [ObjectRef]) {
        var isRemote: Bool?
        var count = 0
        while let stretch = backlog.removeFirst() {
            let now = if case .remote = stretch.origin { true } else { false }
            #expect(now != isRemote)
            isRemote = now
            count += 1
            _ = Self.show(stretch.edits.all, in: &results, isRemote: now)
        }
        #expect(count <= Backlog.stretchCountMax)
        for stretch in plain { _ = Self.show(stretch.edits, in: &plainResults, isRemote: stretch.isRemote) }
        return (results.visible.map(\.object), plainResults.visible.map(\.object))
    }

    private static func show(_ edits: [ResultEdit], in list: inout ResultList, isRemote: Bool) -> Shown {
        var editor = ResultEditor(list)
        var change = editor.apply(edits)
        list = editor.list
        // Which of two results moved may be chosen either way.
        let moveCount = change.moves.count
        change.moves = []
        return Shown(
            isRemote: isRemote, change: change, moveCount: moveCount, objects: list.visible.map(\.object),
            names: list.visible.map { $0.row.values[1] })
    }

    /// Begins anew with what the consumer was shown last, and drops what is far beyond the limit.
    mutating func rest() {
        plain = []
        guard hasWindow, results.entries.count > Self.heldCountMax else { return }
        var editor = ResultEditor(results)
        editor.removeAll(from: Self.capacity)
        results = editor.list
        end = results.entries.last?.position
        held = Dictionary(uniqueKeysWithValues: results.entries.map { ($0.object, $0) })
    }
}
