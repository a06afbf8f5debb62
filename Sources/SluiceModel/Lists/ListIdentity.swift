/// The hidden ids and places of the elements of a list that was edited, beside its values.
///
/// Elements that were made in a row have ids and places in a row, so they take one run. A list that was set as a whole
/// has no identity: that of its elements follows from the values, see ``ElementList/init(_:)``.
package struct ListIdentity: Hashable, Sendable {
    /// Elements with consecutive ids, whose places are equally far apart in one branch.
    package struct Run: Hashable, Sendable {
        package var firstID: ObjectID
        package var firstPlace: ElementPlace
        /// How much greater each place's number is than that of the one before; 0 for a single element.
        package var distance: Int64
        package var count: Int

        package init(firstID: ObjectID, firstPlace: ElementPlace, distance: Int64, count: Int) {
            self.firstID = firstID
            self.firstPlace = firstPlace
            self.distance = distance
            self.count = count
        }

        fileprivate func id(_ index: Int) -> ObjectID {
            ObjectID(high: firstID.high, low: firstID.low &+ UInt64(index))
        }

        fileprivate func place(_ index: Int) -> ElementPlace {
            index == 0 ? firstPlace : firstPlace.moved(by: distance &* Int64(index))
        }

        /// Adds an element if it continues the run.
        fileprivate mutating func append(_ element: ElementList.Element) -> Bool {
            guard element.id == id(count), let distance = firstPlace.distance(to: element.place),
                count == 1 || distance == self.distance &* Int64(count)
            else { return false }
            if count == 1 { self.distance = distance }
            count += 1
            return true
        }
    }

    package let runs: [Run]
    /// The number of elements.
    package let count: Int

    package init(runs: [Run]) {
        self.runs = runs
        count = runs.reduce(0) { $0 &+ $1.count }
    }

    /// That of a list whose identity is not known here, as in files from before lists had one. What is changed in it is
    /// recorded as a whole value.
    package static let unknown = ListIdentity(runs: [])

    /// O(n).
    package init(_ elements: [ElementList.Element]) {
        var runs: [Run] = []
        for element in elements {
            if let last = runs.indices.last, runs[last].append(element) { continue }
            runs.append(Run(firstID: element.id, firstPlace: element.place, distance: 0, count: 1))
        }
        self.init(runs: runs)
    }

    /// Calls `body` with each element's id and place, in order.
    func forEach(_ body: (ObjectID, ElementPlace) -> Void) {
        for run in runs { for index in 0..<run.count { body(run.id(index), run.place(index)) } }
    }

    /// The identity of those elements whose positions are kept, as when some are hidden from a reader. O(n).
    package func filtered(_ isKept: [Bool]) -> ListIdentity {
        var elements: [ElementList.Element] = []
        var position = 0
        forEach { id, place in
            if position < isKept.count, isKept[position] {
                elements.append(.init(id: id, place: place, value: .null))
            }
            position += 1
        }
        return ListIdentity(elements)
    }
}
