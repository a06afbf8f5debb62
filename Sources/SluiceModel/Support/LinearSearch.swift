/// Finds one sequence in another in linear time, with the algorithm of Knuth, Morris and Pratt (1977).
package struct LinearSearch<Element: Equatable> {
    private let needle: ArraySlice<Element>
    /// For each position of the needle, the length of the longest proper prefix of the needle that ends there.
    private let borders: [Int]
    /// How many elements were compared so far, including the preparation.
    package private(set) var stepCount = 0

    /// Prepares a search. O(length of the needle) in time and memory.
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

    /// Finds the first occurrence of the needle; nil if there is none. O(elements read).
    ///
    /// - Returns: the number of elements before the occurrence.
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
