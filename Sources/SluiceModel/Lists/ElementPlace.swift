/// Where an element stands in a list, so that it keeps its place among the others whatever else is inserted, moved or
/// erased.
///
/// A place is a path in a tree, and the list is the tree read from left to right: a child with a negative number stands
/// before its parent, another after it. Whoever inserts several elements in a row puts them into one branch, so what
/// others insert in the same gap does not come between them. See Weidner and Kleppmann, "The Art of the Fugue:
/// Minimizing Interleaving in Collaborative Text Editing" (2023), whose tree this is.
package struct ElementPlace: Hashable, Sendable {
    package struct Step: Hashable, Sendable {
        /// Orders the children of one parent; the negative ones stand before it.
        package var number: Int64
        /// When it was made, so that of two made for the same gap the earlier comes first; 0 in a list that was set as
        /// a whole.
        package var time: Int64
        /// Who made it.
        package var origin: UInt64

        package init(number: Int64, time: Int64 = 0, origin: UInt64 = 0) {
            self.number = number
            self.time = time
            self.origin = origin
        }
    }

    /// The longest path. A list that needs more is set as a whole, which numbers its elements anew.
    package static let stepCountMax = 255
    /// The distance between neighbours in one branch, which leaves room for others between them.
    private static let stride: Int64 = 1 << 20
    /// The numbers between which there is room; a peer may send any.
    private static let numbers: ClosedRange<Int64> = -(1 << 60)...(1 << 60)

    package private(set) var steps: [Step]

    package init(_ steps: [Step]) { self.steps = steps }

    /// The place of an element of a list that was set as a whole.
    package init(index: Int) { steps = [Step(number: Int64(index))] }

    /// Makes a place between two neighbours; nil if it would be too long. O(steps).
    ///
    /// - Parameters:
    ///   - left: the place before; nil at the beginning.
    ///   - right: the place after, which must be greater; nil at the end.
    ///   - time: when it is made, above 0.
    ///   - origin: who makes it.
    package static func between(
        _ left: ElementPlace?, _ right: ElementPlace?, time: Int64, origin: UInt64
    ) -> ElementPlace? {
        func step(_ number: Int64) -> Step { Step(number: number, time: time, origin: origin) }
        let made: ElementPlace
        switch (left, right) {
        case (nil, nil): return ElementPlace([step(0)])
        case (let left?, let right) where right.map { !$0.isBelow(left) } ?? true:
            made = left.beside(right, by: stride, step) ?? left.child(step(0))
        case (let left, let right?):
            made = right.beside(left, by: -stride, step) ?? right.child(step(-1))
        default: return nil
        }
        return made.steps.count <= stepCountMax ? made : nil
    }

    /// A place in the same branch and before another one, if the branch is the maker's own and there is room.
    ///
    /// - Parameter distance: how far away, where the branch has nothing else; negative towards the beginning.
    private func beside(_ end: ElementPlace?, by distance: Int64, _ step: (Int64) -> Step) -> ElementPlace? {
        let parent = steps.dropLast()
        guard let branch = parent.last, branch.origin == step(0).origin, branch.time != 0, let last = steps.last,
            Self.numbers.contains(last.number)
        else { return nil }
        var number = last.number + distance
        if let end, end.steps.dropLast() == parent, let other = end.steps.last, Self.numbers.contains(other.number) {
            number = last.number + (other.number - last.number) / 2
        }
        // On the other side of zero is the other side of the parent.
        guard number != last.number, (number < 0) == (last.number < 0) else { return nil }
        let made = ElementPlace(Array(parent) + [step(number)])
        let isBetween =
            distance > 0 ? self < made && end.map { made < $0 } ?? true : made < self && end.map { $0 < made } ?? true
        return isBetween ? made : nil
    }

    /// The place in the same branch whose number is greater by a distance.
    func moved(by distance: Int64) -> ElementPlace {
        guard var last = steps.last else { return self }
        last.number = last.number &+ distance
        return ElementPlace(steps.dropLast() + [last])
    }

    /// How much greater the number of another place of the same branch and maker is; nil for any other place.
    func distance(to other: ElementPlace) -> Int64? {
        guard steps.count == other.steps.count, let last = steps.last, let next = other.steps.last,
            last.time == next.time, last.origin == next.origin, steps.dropLast() == other.steps.dropLast()
        else { return nil }
        let (distance, overflow) = next.number.subtractingReportingOverflow(last.number)
        return overflow || distance == 0 ? nil : distance
    }

    private func child(_ step: Step) -> ElementPlace { ElementPlace(steps + [step]) }

    private func isBelow(_ other: ElementPlace) -> Bool {
        steps.count > other.steps.count && steps.starts(with: other.steps)
    }
}

extension ElementPlace: Comparable {
    package static func < (left: ElementPlace, right: ElementPlace) -> Bool {
        for (left, right) in zip(left.steps, right.steps) where left != right { return left < right }
        if left.steps.count == right.steps.count { return false }
        return left.steps.count < right.steps.count
            ? right.steps[left.steps.count].number >= 0 : left.steps[right.steps.count].number < 0
    }
}

extension ElementPlace.Step: Comparable {
    package static func < (left: ElementPlace.Step, right: ElementPlace.Step) -> Bool {
        (left.number, left.time, left.origin) < (right.number, right.time, right.origin)
    }
}
