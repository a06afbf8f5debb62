import SluiceModel

/// A server with one list, and what people do to it.
struct ListServer {
    enum Change {
        case assign([Value])
        case edit(ListEdits)
    }

    struct Upload: ClientUpload {
        var client: UInt64
        var time: Int64
        var base: UInt64 = 0
        var changes: [Change]
    }

    private(set) var list: ElementList
    private(set) var trail = ObjectTrail()
    private(set) var version: UInt64 = 0

    init(_ values: [Value]) { list = ElementList(values) }

    mutating func accept(_ upload: Upload) {
        version += 1
        let stamp = WriteStamp(
            timestamp: HybridTimestamp(microseconds: upload.time), clientID: upload.client,
            version: version)
        let history = ObjectHistory(trail, since: upload.base)
        for change in upload.changes {
            switch change {
            case .assign(let values):
                if let other = history.latestAssignment(of: 0), stamp < other { continue }
                list = ElementList(values)
                trail.append(WriteNote(.update, written: [0]), stamp)
            case .edit(let edits):
                guard let effective = edits.effective(in: &list, of: 0, author: stamp, history: history) else {
                    continue
                }
                list.apply(effective)
                let partial = [FieldOperation(0, .editList(effective))]
                trail.append(WriteNote(.update, written: [0], partial: partial), stamp)
            }
        }
    }
}

/// Somebody who knows a list, and changes it without knowing of others.
struct ListPerson {
    let client: UInt64
    private(set) var list: ElementList
    private let ids: ObjectIDGenerator

    init(client: UInt64, _ list: ElementList) {
        self.client = client
        self.list = list
        ids = ObjectIDGenerator(origin: client)
    }

    mutating func learn(_ list: ElementList) { self.list = list }

    mutating func assign(_ values: [Value]) -> ListServer.Change {
        list = ElementList(values)
        return .assign(values)
    }

    mutating func change(to values: [Value], at time: Int64) -> ListServer.Change? {
        let author = ListEdits.Author(origin: client, time: time, ids: ids)
        return ListEdits.difference(from: list, to: values, by: author).map { apply($0) }
    }

    mutating func apply(_ edits: ListEdits) -> ListServer.Change {
        list.apply(edits)
        return .edit(edits)
    }

    /// - Parameter position: the position in the list without the element.
    mutating func move(_ value: Value, to position: Int, at time: Int64) -> ListServer.Change? {
        var rest = list.elements
        guard let old = rest.firstIndex(where: { $0.value == value }) else { return nil }
        let element = rest.remove(at: old)
        guard let place = place(in: rest, at: position, time) else { return nil }
        var edits = ListEdits()
        edits.move(element.id, to: place)
        return apply(edits)
    }

    mutating func insert(_ value: Value, at position: Int, at time: Int64) -> ListServer.Change? {
        guard let place = place(in: list.elements, at: position, time) else { return nil }
        var edits = ListEdits()
        edits.insert(ids.next(), at: place, value)
        return apply(edits)
    }

    private func place(in elements: [ElementList.Element], at position: Int, _ time: Int64)
        -> ElementPlace?
    {
        ElementPlace.between(
            position > 0 ? elements[position - 1].place : nil,
            position < elements.count ? elements[position].place : nil, time: time, origin: client)
    }
}
