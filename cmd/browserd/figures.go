package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/browserd/browserd/browser"
)

// figures are what /metrics shows of the browser.
func figures(chromium *browser.Chromium) []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	return []prometheus.Collector{
		gauge("browserd_chromium_processes", "Chromium's processes.", func() float64 {
			n, _ := chromium.Usage()
			return float64(n)
		}),
		gauge("browserd_chromium_resident_bytes", "Memory of Chromium's processes; pages that they share are counted in each.", func() float64 {
			_, bytes := chromium.Usage()
			return float64(bytes)
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "browserd_chromium_launches_total", Help: "How often Chromium has been started."}, func() float64 {
			return float64(chromium.Info().Generation)
		}),
	}
}
