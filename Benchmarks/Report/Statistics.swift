import Foundation

extension [Double] {
    /// The middle value in order; of an even number of values, the mean of the middle two.
    var median: Double {
        let sorted = sorted()
        guard let last = sorted.last else { return .nan }
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2)
            ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted.count == 1 ? last : sorted[middle]
    }

    /// The smallest value that is not less than this share of all values.
    func percentile(_ share: Double) -> Double {
        guard !isEmpty else { return .nan }
        let rank = Int((share * Double(count)).rounded(.up))
        return sorted()[Swift.min(Swift.max(rank - 1, 0), count - 1)]
    }
}

extension Double {
    /// The number with as many digits as are significant.
    var shown: String {
        switch magnitude {
        case 1000...:
            Int(rounded()).formatted(.number.locale(Locale(identifier: "en_US_POSIX")).grouping(.automatic))
        case 10..<1000: String(format: "%.1f", self)
        default: String(format: "%.3f", self)
        }
    }
}
