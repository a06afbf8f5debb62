package import SluiceModel

/// How all values of a collection become one.
package enum AggregateOperation: String, Hashable, Sendable, CaseIterable {
    case minimum = "min"
    case maximum = "max"
    case sum
    case average = "avg"

    /// Whether this works on dates too.
    var takesDates: Bool { self == .minimum || self == .maximum }

    /// The type of the result over values of a type; nil if there is none.
    package func result(of type: ScalarType) -> ScalarType? {
        switch (self, type) {
        case (.minimum, .date), (.maximum, .date): .date
        case (.minimum, _), (.maximum, _): type.isNumeric ? type : nil
        case (.sum, .float), (.average, .int), (.average, .float): .double
        default: type.isNumeric ? type : nil
        }
    }
}
