/// Finds objects in a list to which each is appended once. Objects that come in ascending order, as those of a large
/// upload usually do, are found by binary search, so that appending them costs one comparison and no hashing.
package struct ObjectPositions: Sendable {
    /// Consecutive objects of the list, ascending.
    fileprivate struct Run {
        let start: Int
        var objects: [ObjectRef]
    }

    /// Shorter runs go into the table.
    private static let runLengthMin = 32
    /// Every run is looked at, so there must be few.
    private static let runCountMax = 16

    private var runs: [Run] = []
    private var table: [ObjectRef: Int] = [:]
    /// The number of objects.
    package private(set) var count = 0

    package init() {}

    /// The position of an object; nil if it is not in the list. O(log n).
    package subscript(object: ObjectRef) -> Int? {
        for index in runs.indices {
            if let position = runs[index].position(of: object) { return position }
        }
        return table.isEmpty ? nil : table[object]
    }

    /// Whether no object of the list is in a range, as far as that shows without looking at the objects: false says
    /// nothing. O(1).
    package func isOutside(_ range: ClosedRange<ObjectRef>) -> Bool {
        table.isEmpty && runs.allSatisfy { $0.isOutside(range) }
    }

    /// The position of an object, which is appended if it is not in the list. Amortised O(log n).
    package mutating func position(of object: ObjectRef) -> (position: Int, isNew: Bool) {
        // One that is above all others is new.
        let isLast = table.isEmpty && runs.count == 1 && runs[0].continues(with: object, at: count)
        if !isLast, let position = self[object] { return (position, false) }
        append(object)
        return (count - 1, true)
    }

    /// Appends an object. Amortised O(1).
    ///
    /// - Precondition: the object is not in the list.
    package mutating func append(_ object: ObjectRef) {
        defer { count += 1 }
        guard let last = runs.indices.last else {
            runs.append(Run(start: count, objects: [object]))
            return
        }
        if runs[last].continues(with: object, at: count) {
            runs[last].objects.append(object)
        } else if runs[last].objects.count < Self.runLengthMin {
            let short = runs.removeLast()
            for (offset, object) in short.objects.enumerated() { table[object] = short.start + offset }
            runs.append(Run(start: count, objects: [object]))
        } else if runs.count < Self.runCountMax {
            runs.append(Run(start: count, objects: [object]))
        } else {
            table[object] = count
        }
    }
}

extension ObjectPositions.Run {
    fileprivate func continues(with object: ObjectRef, at position: Int) -> Bool {
        start + objects.count == position && objects[objects.count - 1] < object
    }

    fileprivate func isOutside(_ range: ClosedRange<ObjectRef>) -> Bool {
        objects[objects.count - 1] < range.lowerBound || range.upperBound < objects[0]
    }

    fileprivate func position(of object: ObjectRef) -> Int? {
        let last = objects.count - 1
        // What was appended last is asked for most.
        if objects[last] == object { return start + last }
        guard !(objects[last] < object), !(object < objects[0]) else { return nil }
        var low = 0
        var high = last
        while low < high {
            let middle = (low + high) / 2
            if objects[middle] < object { low = middle + 1 } else { high = middle }
        }
        return objects[low] == object ? start + low : nil
    }
}
