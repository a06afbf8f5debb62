import SluiceModel

@testable import SluiceWire

extension SampleGenerator {
    /// A list that was set as a whole, and edits of it.
    mutating func edited() -> (list: ElementList, edits: ListEdits) {
        var later = many(upTo: 6) { $0.scalar() }
        let list = ElementList(later)
        for _ in 0..<below(4) {
            if !later.isEmpty, bool() { later.remove(at: below(later.count)) }
            later.insert(scalar(), at: below(later.count + 1))
            if bool() { later.swapAt(below(later.count), below(later.count)) }
        }
        let author = ListEdits.Author(
            origin: number(), time: integer(), ids: ObjectIDGenerator(origin: number(), first: 1))
        return (list, ListEdits.difference(from: list, to: later, by: author) ?? ListEdits())
    }

    /// A block with lists of which more is said than their values.
    mutating func notedBlock() -> ViewBlock {
        var block = ObjectBlock()
        for number in 0..<(1 + below(6)) {
            let (list, edits) = edited()
            // The value does not travel where the receiver has the list and makes it by the edits.
            let isEdited = bool()
            let elements = list.elements.map(\.value)
            var row = Row(
                key: .int(Int64(number)), version: self.number(),
                values: [.string(text()), .list(isEdited ? [] : elements)])
            if !isEdited { row.edit(1) { _ in edits } }
            block.append(
                row, classIndex: below(2), role: pick([.root, .linked]), properties: [0, 1],
                edits: isEdited ? [1: edits] : [:])
        }
        return ViewBlock(authors: many(upTo: 2) { $0.author() }, objects: block)
    }

    /// A message of a server that says more of lists than their values.
    mutating func messageOfLists() -> ServerMessage {
        let content = notedBlock()
        if bool() {
            return .page(
                .init(session: number(), subscriptions: [number()], version: number(), progress: 1, content: content))
        }
        let header = CommitHeader(
            session: number(), version: number(), acceptedAt: Timestamp(microseconds: integer()))
        return .commit(.init(header, blocks: [.init(subscriptions: [number()], content: content)]))
    }

    /// A message of a server, with notes on lists or without.
    mutating func anyServerMessage() -> ServerMessage { below(4) == 0 ? messageOfLists() : serverMessage() }
}
