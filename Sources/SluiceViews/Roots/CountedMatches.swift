import SluiceModel
import SluiceQuery

/// Counts what a commit group brings to the matches of a query and takes from them.
struct CountedMatches {
    /// The number of matches; nil if they are not counted.
    private(set) var count: Int?
    private let before: Int?
    /// The positions of the changes because of which objects have come or gone, some of them more than once.
    private var causes: [Int] = []

    init(_ count: Int?) {
        self.count = count
        before = count
    }

    var isOn: Bool { count != nil }

    /// Notes that an object has come or gone.
    ///
    /// - Parameters:
    ///   - position: that of the object's own change in the group; nil if there is none.
    ///   - others: the positions of the changes of other objects that it reads.
    mutating func note(isMatch: Bool, _ position: Int?, _ others: [Int]) {
        count? += isMatch ? 1 : -1
        if let position { causes.append(position) }
        causes += others
    }

    /// The changes of roots, with that of the number.
    consuming func changes(_ roots: [RootChange]) -> RootChanges {
        guard count != before else { return RootChanges(all: roots) }
        if causes.count > 1 { causes = Set(causes).sorted() }
        return RootChanges(all: roots, total: count, totalCauses: causes)
    }
}
