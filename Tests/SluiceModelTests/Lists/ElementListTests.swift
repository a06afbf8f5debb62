import SluiceModel
import TestSupport
import Testing

/// Long lists that are edited one element at a time, compared with plain arrays.
@Suite(.ownThread) struct ElementListTests {
    private static let ids = ObjectIDGenerator(origin: 7)

    /// An edit anywhere in a list, and what it makes of the values.
    private func edit(
        _ list: ElementList, _ values: inout [Value], _ number: Int, _ generator: inout SeededGenerator
    ) throws -> ListEdits {
        let author = ListEdits.Author(origin: 7, time: Int64(number), ids: Self.ids)
        let position = Int.random(in: 0..<max(1, values.count), using: &generator)
        switch Int.random(in: 0..<(values.isEmpty ? 1 : 5), using: &generator) {
        case 0, 1:
            values.insert(.int(Int64(number)), at: position)
            return try #require(ListEdits.inserting([.int(Int64(number))], at: position, in: list, by: author))
        case 2:
            values.remove(at: position)
            return .erasing(position..<position + 1, in: list)
        case 3:
            values[position] = .int(Int64(-number))
            return .setting(position, to: .int(Int64(-number)), in: list)
        default:
            let destination = Int.random(in: 0..<values.count, using: &generator)
            values.insert(values.remove(at: position), at: destination)
            return try #require(ListEdits.moving(from: position, to: destination, in: list, by: author))
        }
    }

    @Test(arguments: [0, 5, 1_000]) func editsDoToAListWhatTheyDoToItsValues(count: Int) throws {
        var generator = SeededGenerator(seed: UInt64(count))
        var list = ElementList((0..<count).map { .int(Int64($0)) })
        var values = list.values
        var beside = values
        let (start, before) = (list, values)
        for number in 1...1_500 {
            let edits = try edit(list, &values, number, &generator)
            list.apply(edits, to: &beside)
            if number % 100 == 0 {
                #expect(list.values == values)
                #expect(beside == values)
                let again = try #require(ElementList(values, list.identity))
                #expect(again == list)
                #expect(list.elements.indices.allSatisfy { list[$0] == list.elements[$0] })
                for (position, element) in list.elements.enumerated() {
                    #expect(list.position(of: element.id) == position)
                }
            }
        }
        // Whoever has a copy has what it was.
        #expect(start.values == before)
        var target = start
        target.apply(ListEdits.between(start, list))
        #expect(target == list)
    }

    @Test func aRowWhoseListsAreBehindGetsTheirValuesWhenTheyAreClosed() throws {
        var generator = SeededGenerator(seed: 3)
        let start = Row(key: .int(1), values: [.list((0..<40).map { .int($0) }), .string("a")])
        var (behind, open) = (start, start)
        guard case .list(var values) = start.values[0] else { return }
        for number in 1...50 {
            let list = try #require(open.list(of: 0))
            let edits = try edit(list, &values, number, &generator)
            behind.edit(0, isBehind: true) { _ in edits }
            open.edit(0) { _ in edits }
            #expect(open.values[0] == .list(values))
            #expect(behind.values[0] == start.values[0])
            #expect(behind.list(of: 0) == open.list(of: 0))
            #expect(behind.identity(of: 0) == open.identity(of: 0))
        }
        behind.closeLists()
        #expect(behind == open)
        #expect(behind.isIdentical(to: open))
        #expect(open.differences(from: start) == [0])
    }

    /// Values that were replaced behind the back of an open list are those of the row.
    @Test func anOpenListHasTheValuesOfItsRow() throws {
        var row = Row(key: .int(1), values: [.list([.int(1), .int(2)])])
        let list = try #require(row.list(of: 0))
        let erased = ListEdits.erasing(0..<1, in: list)
        row.edit(0) { _ in erased }
        row.values[0] = .list([.double(2)])
        #expect(row.list(of: 0)?.values == [.double(2)])
        #expect(row.list(of: 0)?.elements.map(\.id.low) == [1])
        row.values[0] = .list([])
        #expect(row.list(of: 0) == nil)
    }
}
