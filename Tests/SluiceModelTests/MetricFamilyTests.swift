import SluiceModel
import Testing

@Suite struct MetricFamilyTests {
    @Test func labelsAndHelpAreEscaped() {
        var family = MetricFamily("n", .gauge, "A\\b\nc \"d\".")
        family.add(1.5, ("l", "a\"b\\c\nd"), ("m", ""))
        family.add(-3)
        #expect(
            family.text
                == "# HELP n A\\\\b\\nc \"d\".\n# TYPE n gauge\nn{l=\"a\\\"b\\\\c\\nd\",m=\"\"} 1.5\nn -3\n")
    }

    @Test func everyDurationIsInOneClass() {
        var histogram = DurationHistogram()
        for bound in DurationHistogram.bounds { for time in [bound, bound + 1] { histogram.note(time) } }
        histogram.note(-1)
        // A bound belongs to its class, and one more nanosecond to the next.
        #expect(histogram.counts == [2] + [UInt64](repeating: 2, count: DurationHistogram.bounds.count - 1) + [1])
        #expect(histogram.count == UInt64(2 * DurationHistogram.bounds.count + 1))
        var sum = histogram
        sum += histogram
        #expect(sum.count == 2 * histogram.count && sum.sum == 2 * histogram.sum)
    }
}
