import Foundation

extension [Double] {
    /// The value that half of the others do not exceed; of an even number, the mean of the middle two.
    var median: Double {
        let sorted = sorted()
        guard let last = sorted.last else { return .nan }
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2)
            ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted.count == 1 ? last : sorted[middle]
    }

    /// The smallest value that a share of all does not exceed.
    func percentile(_ share: Double) -> Double {
        guard !isEmpty else { return .nan }
        let rank = Int((share * Double(count)).rounded(.up))
        return sorted()[Swift.min(Swift.max(rank - 1, 0), count - 1)]
    }
}

extension Double {
    /// With as many digits as tell something.
    var shown: String {
        switch magnitude {
        case 1000...:
            Int(rounded()).formatted(.number.locale(Locale(identifier: "en_US_POSIX")).grouping(.automatic))
        case 10..<1000: String(format: "%.1f", self)
        default: String(format: "%.3f", self)
        }
    }
}
