/// Edits that name elements by their positions in a list. Each is nil where a place would be too long, so that the list
/// must be set as a whole.
extension ListEdits {
    /// Inserts values, so that the first is at a position. O(values).
    package static func inserting(
        _ values: [Value], at position: Int, in list: ElementList, by author: Author
    ) -> ListEdits? {
        var left = position > 0 ? list[position - 1].place : nil
        let right = position < list.count ? list[position].place : nil
        var edits = ListEdits()
        for value in values {
            guard let place = ElementPlace.between(left, right, time: author.time, origin: author.origin) else {
                return nil
            }
            edits.insert(author.ids.next(), at: place, value)
            left = place
        }
        return edits
    }

    /// Moves an element, so that it is at another position afterwards.
    package static func moving(
        from old: Int, to new: Int, in list: ElementList, by author: Author
    ) -> ListEdits? {
        guard old != new else { return ListEdits() }
        // Between those that are its neighbours then.
        let left = new > old ? new : new - 1
        let place = ElementPlace.between(
            left >= 0 ? list[left].place : nil, left + 1 < list.count ? list[left + 1].place : nil,
            time: author.time, origin: author.origin)
        guard let place else { return nil }
        var edits = ListEdits()
        edits.move(list[old].id, to: place)
        return edits
    }

    /// Erases elements.
    package static func erasing(_ positions: Range<Int>, in list: ElementList) -> ListEdits {
        var edits = ListEdits()
        for position in positions { edits.erase(list[position].id) }
        return edits
    }

    /// Sets an element.
    package static func setting(_ position: Int, to value: Value, in list: ElementList) -> ListEdits {
        var edits = ListEdits()
        edits.set(list[position].id, value)
        return edits
    }
}
