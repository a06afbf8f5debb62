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
        fileprivate mutating func append(_ id: ObjectID, _ place: ElementPlace) -> Bool {
            guard id == self.id(count), id.low > firstID.low, let distance = firstPlace.distance(to: place),
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

    /// That of a list whose identity cannot be read. What is changed in it is recorded as a whole value.
    package static let unknown = ListIdentity(runs: [])

    /// That of a list with these values that was set as a whole, see ``ElementList/init(_:)``. O(n).
    package init(ofWhole values: [Value]) { self = ElementList(values).identity }

    /// O(n).
    init(_ elements: SharedChunks<ElementList.Element>) {
        var runs: [Run] = []
        elements.forEach { Self.append($0, to: &runs) }
        self.init(runs: runs)
    }

    private static func append(_ element: ElementList.Element, to runs: inout [Run]) {
        if let last = runs.indices.last, runs[last].append(element.id, element.place) { return }
        runs.append(Run(firstID: element.id, firstPlace: element.place, distance: 0, count: 1))
    }

    /// That of an element, and of those that follow it in one run.
    ///
    /// - Parameters:
    ///   - next: the element after it; nil at the end.
    ///   - countMax: at most how many follow.
    package init(of element: ElementList.Element, before next: ElementList.Element?, countMax: Int) {
        var run = Run(firstID: element.id, firstPlace: element.place, distance: 0, count: 1)
        if let next, run.append(next.id, next.place) { run.count = max(2, countMax) }
        self.init(runs: [run])
    }

    /// The identity of a list that is put together of runs, of each of which the list has a number of elements.
    ///
    /// - Returns: nil if a run is shorter than that.
    package init?(of parts: [(run: Run, count: Int)]) {
        var runs: [Run] = []
        for (run, count) in parts {
            guard count <= run.count else { return nil }
            var part = run
            part.count = count
            if count == 1 { part.distance = 0 }
            Self.append(part, to: &runs)
        }
        self.init(runs: runs)
    }

    /// Appends a run, of which what continues the last becomes part of that, as if the elements came one by one.
    private static func append(_ run: Run, to runs: inout [Run]) {
        guard let last = runs.indices.last, runs[last].append(run.id(0), run.place(0)) else { return runs.append(run) }
        guard run.count > 1 else { return }
        // If the second continues it too, all are as far apart.
        if runs[last].append(run.id(1), run.place(1)) {
            runs[last].count += run.count - 2
        } else {
            runs.append(
                Run(
                    firstID: run.id(1), firstPlace: run.place(1), distance: run.count > 2 ? run.distance : 0,
                    count: run.count - 1))
        }
    }

    /// Whether no two elements have one id. O(runs · log runs).
    var namesEachOnce: Bool {
        let sorted = runs.sorted { $0.firstID < $1.firstID }
        for (run, next) in zip(sorted, sorted.dropFirst()) where run.firstID.high == next.firstID.high {
            guard next.firstID.low - run.firstID.low >= UInt64(run.count) else { return false }
        }
        // A run beyond the last number begins again with the first.
        return sorted.allSatisfy { $0.firstID.low <= .max - UInt64($0.count - 1) }
    }

    /// Calls `body` with each element's id and place, in order.
    package func forEach(_ body: (ObjectID, ElementPlace) -> Void) {
        for run in runs { for index in 0..<run.count { body(run.id(index), run.place(index)) } }
    }
}
