/// Numbers that simulations count, and that are added up over several of them.
package protocol SummedCounts {
    /// Every number.
    static var all: [WritableKeyPath<Self, Int>] { get }
}

extension SummedCounts {
    package static func += (left: inout Self, right: Self) {
        for count in all { left[keyPath: count] += right[keyPath: count] }
    }
}
