package import SluiceModel

extension Timestamp {
    /// The point in time that is some whole microseconds later, or the end of all time.
    package func advanced(by duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        let distance = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
        let (sum, isOver) = microseconds.addingReportingOverflow(distance)
        return Timestamp(microseconds: isOver ? (distance < 0 ? .min : .max) : sum)
    }
}
