/// Finds one sequence in another in linear time, by the method of Knuth, Morris and Pratt (1977).
package struct LinearSearch<Element: Equatable> {
    private let needle: ArraySlice<Element>
    /// For each position of the needle: how many elements before it are also the needle's beginning.
    private let borders: [Int]
    /// How many elements were compared, or looked at to prepare for that.
    package private(set) var stepCount = 0

    /// Costs time and memory in proportion to the needle.
    package init(for needle: ArraySlice<Element>) {
        self.needle = needle
        var borders = [0]
        borders.reserveCapacity(needle.count)
        var matched = 0
        let start = needle.startIndex
        for element in needle.dropFirst() {
            while matched > 0, needle[start + matched] != element {
                matched = borders[matched - 1]
                stepCount += 1
            }
            if needle[start + matched] == element { matched += 1 }
            borders.append(matched)
            stepCount += 1
        }
        self.borders = borders
    }

    /// Where the needle begins first; nil if it is nowhere. Costs time in proportion to what is looked through.
    ///
    /// - Returns: the number of elements before it.
    package mutating func find(in text: some Sequence<Element>) -> Int? {
        if needle.isEmpty { return 0 }
        var matched = 0
        var position = 0
        let start = needle.startIndex
        for element in text {
            position += 1
            while matched > 0, needle[start + matched] != element {
                matched = borders[matched - 1]
                stepCount += 1
            }
            if needle[start + matched] == element { matched += 1 }
            stepCount += 1
            if matched == needle.count { return position - matched }
        }
        return nil
    }
}
